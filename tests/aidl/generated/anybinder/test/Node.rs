/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub struct r#Node {
  pub r#value: i32,
  pub r#next: Option<Box<crate::mangled::_9_anybinder_4_test_4_Node>>,
}
impl Default for r#Node {
  fn default() -> Self {
    Self {
      r#value: 0,
      r#next: Default::default(),
    }
  }
}
impl binder::Parcelable for r#Node {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#value)?;
      subparcel.write(&self.r#next)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#value = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#next = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Node);
binder::impl_deserialize_for_parcelable!(r#Node);
impl binder::binder_impl::ParcelableMetadata for r#Node {
  fn get_descriptor() -> &'static str { "anybinder.test.Node" }
}
pub(crate) mod mangled {
 pub use super::r#Node as _9_anybinder_4_test_4_Node;
}
