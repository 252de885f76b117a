/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#[derive(Debug, Clone, PartialEq)]
pub struct r#Pair<A,B,> {
  pub r#which: i32,
  pub r#name: Option<String>,
  _phantom_A: std::marker::PhantomData<A>,
  _phantom_B: std::marker::PhantomData<B>,
}
impl<A: Default,B: Default,> Default for r#Pair<A,B,> {
  fn default() -> Self {
    Self {
      r#which: 1,
      r#name: Default::default(),
      r#_phantom_A: Default::default(),
      r#_phantom_B: Default::default(),
    }
  }
}
impl<A,B,> binder::Parcelable for r#Pair<A,B,> {
  fn write_to_parcel(&self, parcel: &mut binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_write(|subparcel| {
      subparcel.write(&self.r#which)?;
      subparcel.write(&self.r#name)?;
      Ok(())
    })
  }
  fn read_from_parcel(&mut self, parcel: &binder::binder_impl::BorrowedParcel) -> std::result::Result<(), binder::StatusCode> {
    parcel.sized_read(|subparcel| {
      if subparcel.has_more_data() {
        self.r#which = subparcel.read()?;
      }
      if subparcel.has_more_data() {
        self.r#name = subparcel.read()?;
      }
      Ok(())
    })
  }
}
binder::impl_serialize_for_parcelable!(r#Pair<A,B,>);
binder::impl_deserialize_for_parcelable!(r#Pair<A,B,>);
impl<A,B,> binder::binder_impl::ParcelableMetadata for r#Pair<A,B,> {
  fn get_descriptor() -> &'static str { "anybinder.test.Pair" }
}
pub(crate) mod mangled {
 pub use super::r#Pair as _9_anybinder_4_test_4_Pair;
}
