/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub struct r#Extra {
  pub r#number: i32,
  pub r#text: String,
  pub r#binder: Option<binder::SpIBinder>,
}
impl Default for r#Extra {
  fn default() -> Self {
    Self {
      r#number: 0,
      r#text: Default::default(),
      r#binder: Default::default(),
    }
  }
}
impl binder::Parcelable for r#Extra {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#number)?;
      subparcel.write(&self.r#text)?;
      subparcel.write(&self.r#binder)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#number = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#text = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#binder = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Extra);
binder::impl_deserialize_for_parcelable!(r#Extra);
impl binder::binder_impl::ParcelableMetadata for r#Extra {
  fn get_descriptor() -> &'static str { "anybinder.test.Extra" }
}
pub(crate) mod mangled {
 pub use super::r#Extra as _9_anybinder_4_test_5_Extra;
}
