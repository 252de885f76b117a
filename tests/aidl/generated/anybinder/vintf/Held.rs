/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug)]
pub struct r#Held {
  pub r#inside: binder::ParcelableHolder,
}
impl Default for r#Held {
  fn default() -> Self {
    Self {
      r#inside: binder::ParcelableHolder::new(binder::binder_impl::Stability::Vintf),
    }
  }
}
impl binder::Parcelable for r#Held {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#inside)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#inside = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Held);
binder::impl_deserialize_for_parcelable!(r#Held);
impl binder::binder_impl::ParcelableMetadata for r#Held {
  fn get_descriptor() -> &'static str { "anybinder.vintf.Held" }
  fn get_stability(&self) -> binder::binder_impl::Stability { binder::binder_impl::Stability::Vintf }
}
pub(crate) mod mangled {
 pub use super::r#Held as _9_anybinder_5_vintf_4_Held;
}
