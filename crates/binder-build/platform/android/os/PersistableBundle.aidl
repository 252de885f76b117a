package android.os;
@RustOnlyStableParcelable
parcelable PersistableBundle rust_type "binder::PersistableBundle";
