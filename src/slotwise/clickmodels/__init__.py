"""Click models describe how visitors click. One file is one model."""
