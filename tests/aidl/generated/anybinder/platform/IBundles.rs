/*
 * This file is auto-generated.  DO NOT MODIFY.
 * Using: cmd not shown due to `--omit_invocation`
 */
#![forbid(unsafe_code)]
#![cfg_attr(rustfmt, rustfmt_skip)]
#![allow(non_upper_case_globals)]
#![allow(non_snake_case)]
#[allow(unused_imports)] use binder::binder_impl::IBinderInternal;
use binder::declare_binder_interface;
declare_binder_interface! {
  IBundles["anybinder.platform.IBundles"] {
    native: BnBundles(on_transact),
    proxy: BpBundles {
    },
    async: IBundlesAsync,
  }
}
pub trait IBundles: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.platform.IBundles" }
  fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>>;
  fn getDefaultImpl() -> IBundlesDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: IBundlesDefaultRef) -> IBundlesDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait IBundlesAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.platform.IBundles" }
  fn r#repeat<'a>(&'a self, _arg_first: &'a binder::PersistableBundle, _arg_second: Option<&'a binder::PersistableBundle>) -> binder::BoxFuture<'a, binder::Result<Vec<binder::PersistableBundle>>>;
}
#[::async_trait::async_trait]
pub trait IBundlesAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.platform.IBundles" }
  async fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>>;
}
impl BnBundles {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn IBundles>
  where
    T: IBundlesAsyncServer + binder::Interface + Send + Sync + 'static,
    R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
  {
    struct Wrapper<T, R> {
      _inner: T,
      _rt: R,
    }
    impl<T, R> binder::Interface for Wrapper<T, R> where T: binder::Interface, R: Send + Sync + 'static {
      fn as_binder(&self) -> binder::SpIBinder { self._inner.as_binder() }
      fn dump(&self, _writer: &mut dyn std::io::Write, _args: &[&std::ffi::CStr]) -> std::result::Result<(), binder::StatusCode> { self._inner.dump(_writer, _args) }
    }
    impl<T, R> IBundles for Wrapper<T, R>
    where
      T: IBundlesAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>> {
        self._rt.block_on(self._inner.r#repeat(_arg_first, _arg_second))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait IBundlesDefault: Send + Sync {
  fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#repeat: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
}
pub type IBundlesDefaultRef = Option<std::sync::Arc<dyn IBundlesDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<IBundlesDefaultRef> = std::sync::Mutex::new(None);
impl BpBundles {
  fn build_parcel_repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_first)?;
    aidl_data.write(&_arg_second)?;
    Ok(aidl_data)
  }
  fn read_response_repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<Vec<binder::PersistableBundle>> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IBundles>::getDefaultImpl() {
        return _aidl_default_impl.r#repeat(_arg_first, _arg_second);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: Vec<binder::PersistableBundle> = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
}
impl IBundles for BpBundles {
  fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>> {
    let _aidl_data = self.build_parcel_repeat(_arg_first, _arg_second)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeat(_arg_first, _arg_second, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> IBundlesAsync<P> for BpBundles {
  fn r#repeat<'a>(&'a self, _arg_first: &'a binder::PersistableBundle, _arg_second: Option<&'a binder::PersistableBundle>) -> binder::BoxFuture<'a, binder::Result<Vec<binder::PersistableBundle>>> {
    let _aidl_data = match self.build_parcel_repeat(_arg_first, _arg_second) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeat(_arg_first, _arg_second, _aidl_reply)
      }
    )
  }
}
impl IBundles for binder::binder_impl::Binder<BnBundles> {
  fn r#repeat(&self, _arg_first: &binder::PersistableBundle, _arg_second: Option<&binder::PersistableBundle>) -> binder::Result<Vec<binder::PersistableBundle>> { self.0.r#repeat(_arg_first, _arg_second) }
}
fn on_transact(_aidl_service: &dyn IBundles, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#repeat => {
      let _arg_first: binder::PersistableBundle = _aidl_data.read()?;
      let _arg_second: Option<binder::PersistableBundle> = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeat(&_arg_first, _arg_second.as_ref());
      match &_aidl_return {
        Ok(_aidl_return) => {
          _aidl_reply.write(&binder::Status::from(binder::StatusCode::OK))?;
          _aidl_reply.write(_aidl_return)?;
        }
        Err(_aidl_status) => _aidl_reply.write(_aidl_status)?
      }
      Ok(())
    }
    _ => Err(binder::StatusCode::UNKNOWN_TRANSACTION)
  }
}
pub(crate) mod mangled {
 pub use super::r#IBundles as _9_anybinder_8_platform_8_IBundles;
}
