package anybinder.vintf;
@VintfStability
parcelable Held { ParcelableHolder inside; }
