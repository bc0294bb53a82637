"""Click models: how visitors click. One file is one model."""
