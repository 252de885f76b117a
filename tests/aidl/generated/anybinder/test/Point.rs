/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, Copy, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct r#Point {
  pub r#x: i32,
  pub r#y: i32,
}
impl Default for r#Point {
  fn default() -> Self {
    Self {
      r#x: 3,
      r#y: 0,
    }
  }
}
impl binder::Parcelable for r#Point {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#x)?;
      subparcel.write(&self.r#y)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#x = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#y = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Point);
binder::impl_deserialize_for_parcelable!(r#Point);
impl binder::binder_impl::ParcelableMetadata for r#Point {
  fn get_descriptor() -> &'static str { "anybinder.test.Point" }
}
pub(crate) mod mangled {
 pub use super::r#Point as _9_anybinder_4_test_5_Point;
}
