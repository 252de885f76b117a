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
  IStable["anybinder.vintf.IStable"] {
    native: BnStable(on_transact),
    proxy: BpStable {
    },
    async: IStableAsync,
    stability: binder::binder_impl::Stability::Vintf,
  }
}
pub trait IStable: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.vintf.IStable" }
  fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held>;
  fn getDefaultImpl() -> IStableDefaultRef where Self: Sized {
    DEFAULT_IMPL.lock().unwrap().clone()
  }
  fn setDefaultImpl(d: IStableDefaultRef) -> IStableDefaultRef where Self: Sized {
    std::mem::replace(&mut *DEFAULT_IMPL.lock().unwrap(), d)
  }
}
pub trait IStableAsync<P>: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.vintf.IStable" }
  fn r#repeat<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held>>;
}
#[::async_trait::async_trait]
pub trait IStableAsyncServer: binder::Interface + Send {
  fn get_descriptor() -> &'static str where Self: Sized { "anybinder.vintf.IStable" }
  async fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held>;
}
impl BnStable {
  /// Create a new async binder service.
  pub fn new_async_binder<T, R>(inner: T, rt: R, features: binder::BinderFeatures) -> binder::Strong<dyn IStable>
  where
    T: IStableAsyncServer + binder::Interface + Send + Sync + 'static,
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
    impl<T, R> IStable for Wrapper<T, R>
    where
      T: IStableAsyncServer + Send + Sync + 'static,
      R: binder::binder_impl::BinderAsyncRuntime + Send + Sync + 'static,
    {
      fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held> {
        self._rt.block_on(self._inner.r#repeat(_arg_value))
      }
    }
    let wrapped = Wrapper { _inner: inner, _rt: rt };
    Self::new_binder(wrapped, features)
  }
}
pub trait IStableDefault: Send + Sync {
  fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held> {
    Err(binder::StatusCode::UNKNOWN_TRANSACTION.into())
  }
}
pub mod transactions {
  pub const r#repeat: binder::binder_impl::TransactionCode = binder::binder_impl::FIRST_CALL_TRANSACTION + 0;
}
pub type IStableDefaultRef = Option<std::sync::Arc<dyn IStableDefault>>;
static DEFAULT_IMPL: std::sync::Mutex<IStableDefaultRef> = std::sync::Mutex::new(None);
impl BpStable {
  fn build_parcel_repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<binder::binder_impl::Parcel> {
    let mut aidl_data = self.binder.prepare_transact()?;
    aidl_data.write(_arg_value)?;
    Ok(aidl_data)
  }
  fn read_response_repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held, _aidl_reply: std::result::Result<binder::binder_impl::Parcel, binder::StatusCode>) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held> {
    if let Err(binder::StatusCode::UNKNOWN_TRANSACTION) = _aidl_reply {
      if let Some(_aidl_default_impl) = <Self as IStable>::getDefaultImpl() {
        return _aidl_default_impl.r#repeat(_arg_value);
      }
    }
    let _aidl_reply = _aidl_reply?;
    let _aidl_status: binder::Status = _aidl_reply.read()?;
    if !_aidl_status.is_ok() { return Err(_aidl_status); }
    let _aidl_return: crate::mangled::_9_anybinder_5_vintf_4_Held = _aidl_reply.read()?;
    Ok(_aidl_return)
  }
}
impl IStable for BpStable {
  fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held> {
    let _aidl_data = self.build_parcel_repeat(_arg_value)?;
    let _aidl_reply = self.binder.submit_transact(transactions::r#repeat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL);
    self.read_response_repeat(_arg_value, _aidl_reply)
  }
}
impl<P: binder::BinderAsyncPool> IStableAsync<P> for BpStable {
  fn r#repeat<'a>(&'a self, _arg_value: &'a crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::BoxFuture<'a, binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held>> {
    let _aidl_data = match self.build_parcel_repeat(_arg_value) {
      Ok(_aidl_data) => _aidl_data,
      Err(err) => return Box::pin(std::future::ready(Err(err))),
    };
    let binder = self.binder.clone();
    P::spawn(
      move || binder.submit_transact(transactions::r#repeat, _aidl_data, binder::binder_impl::FLAG_PRIVATE_LOCAL),
      move |_aidl_reply| async move {
        self.read_response_repeat(_arg_value, _aidl_reply)
      }
    )
  }
}
impl IStable for binder::binder_impl::Binder<BnStable> {
  fn r#repeat(&self, _arg_value: &crate::mangled::_9_anybinder_5_vintf_4_Held) -> binder::Result<crate::mangled::_9_anybinder_5_vintf_4_Held> { self.0.r#repeat(_arg_value) }
}
fn on_transact(_aidl_service: &dyn IStable, _aidl_code: binder::binder_impl::TransactionCode, _aidl_data: &binder::binder_impl::BorrowedParcel<'_>, _aidl_reply: &mut binder::binder_impl::BorrowedParcel<'_>) -> std::result::Result<(), binder::StatusCode> {
  match _aidl_code {
    transactions::r#repeat => {
      let _arg_value: crate::mangled::_9_anybinder_5_vintf_4_Held = _aidl_data.read()?;
      let _aidl_return = _aidl_service.r#repeat(&_arg_value);
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
 pub use super::r#IStable as _9_anybinder_5_vintf_7_IStable;
}
