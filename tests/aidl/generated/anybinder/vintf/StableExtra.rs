/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub struct r#StableExtra {
  pub r#number: i32,
}
impl Default for r#StableExtra {
  fn default() -> Self {
    Self {
      r#number: 0,
    }
  }
}
impl binder::Parcelable for r#StableExtra {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#number)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#number = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#StableExtra);
binder::impl_deserialize_for_parcelable!(r#StableExtra);
impl binder::binder_impl::ParcelableMetadata for r#StableExtra {
  fn get_descriptor() -> &'static str { "anybinder.vintf.StableExtra" }
  fn get_stability(&self) -> binder::binder_impl::Stability { binder::binder_impl::Stability::Vintf }
}
pub(crate) mod mangled {
 pub use super::r#StableExtra as _9_anybinder_5_vintf_11_StableExtra;
}
