/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub struct r#Growing {
  pub r#old: i32,
  pub r#added: String,
}
impl Default for r#Growing {
  fn default() -> Self {
    Self {
      r#old: 1,
      r#added: "since version 2".into(),
    }
  }
}
impl binder::Parcelable for r#Growing {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#old)?;
      subparcel.write(&self.r#added)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#old = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#added = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Growing);
binder::impl_deserialize_for_parcelable!(r#Growing);
impl binder::binder_impl::ParcelableMetadata for r#Growing {
  fn get_descriptor() -> &'static str { "anybinder.versioned.Growing" }
}
pub(crate) mod mangled {
 pub use super::r#Growing as _9_anybinder_9_versioned_7_Growing;
}
