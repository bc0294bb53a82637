"""What the authors' public code does differently, one difference per file, so that its effect can be measured."""
