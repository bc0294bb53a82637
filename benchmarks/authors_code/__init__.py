"""What the authors' public code does differently. Each file is one difference, so that its effect can be measured."""
