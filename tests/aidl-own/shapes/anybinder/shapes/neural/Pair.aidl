package anybinder.shapes.neural;
parcelable Pair<First, Second> { int first; @nullable String[] second; ParcelableHolder extension; }
