/**
 * A random pause after this many failures in a row. Its upper bound doubles with every failure, up to a limit. It is at
 * least half of the bound, and random: clients that failed together do not return together.
 */
export function backoffMs(failures, first, longest) {
  return (0.5 + Math.random() / 2) * Math.min(longest, first * 2 ** Math.min(failures - 1, 30));
}
