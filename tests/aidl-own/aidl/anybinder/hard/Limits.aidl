package anybinder.hard;
parcelable Limits {
    const int LENGTH = 1 << 5 | 1;
}
