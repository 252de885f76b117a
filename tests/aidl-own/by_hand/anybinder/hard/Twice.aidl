package anybinder.hard;
@RustOnlyStableParcelable
parcelable Twice cpp_header "twice.h" rust_type "crate::by_hand::Twice";
