//! RPC Binder over a Unix socket, by rsbinder.

use std::os::linux::net::SocketAddrExt;

use rsbinder::rpc::{RpcClientConfig, RpcServer, RpcSession};
use rsbinder::{Binder, Interface, Parcel, Remotable, SIBinder, StatusCode};

use super::calls::{
    Back, CallsOrder, Carried, DESCRIPTOR, Op, REPEAT_BINDER, REPEAT_BYTES, REPEAT_STRING, failure,
    time,
};
use super::rpc::socket_name;
use crate::actor::{Actor, ActorLink};
use crate::affinity;
use crate::error::BenchError;

/// The newest version that both libraries speak.
const VERSION: u32 = 2;

pub(super) fn start(core: Option<usize>) -> Result<(Actor, Actor), BenchError> {
    let name = socket_name("rsbinder");
    let name = name.trim_start_matches('\0').as_bytes();
    debug_assert!(std::os::unix::net::SocketAddr::from_abstract_name(name).is_ok());
    let mut server = Actor::start("rsbinder server", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let served = RpcServer::setup_unix_server_abstract(name).and_then(|server| {
            server.set_android13plus(VERSION);
            server.set_root(new_service())?;
            Ok(server)
        });
        let server = served.map_err(|status| failure(Op::Ping, &status))?;
        link.answer(&())?;
        server.run().map_err(|status| failure(Op::Ping, &status))
    })?;
    server.expect_ready()?;
    let client = Actor::start("rsbinder client", |link| {
        core.map_or(Ok(()), affinity::pin_self)?;
        let config = RpcClientConfig::unix_abstract(name, VERSION);
        let connected = RpcSession::setup_client_android13plus_with_config(config)
            .and_then(|session| Ok((session.get_root()?, session)));
        let (object, _session) = connected.map_err(|status| failure(Op::Ping, &status))?;
        play(link, &object)
    })?;
    Ok((client, server))
}

/// Gives back what it gets.
struct RsbinderRepeat;

fn new_service() -> SIBinder {
    Binder::new(RsbinderRepeat).as_binder()
}

impl Remotable for RsbinderRepeat {
    fn descriptor() -> &'static str {
        DESCRIPTOR
    }

    fn on_transact(
        &self,
        code: u32,
        data: &mut Parcel,
        reply: &mut Parcel,
    ) -> rsbinder::Result<()> {
        match code {
            REPEAT_BYTES => {
                let bytes: Vec<u8> = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&bytes)
            }
            REPEAT_STRING => {
                let text: String = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&text)
            }
            REPEAT_BINDER => {
                let binder: SIBinder = data.read()?;
                reply.write(&0_i32)?;
                reply.write(&binder)
            }
            _ => Err(StatusCode::UnknownTransaction),
        }
    }

    fn on_dump(&self, _: &mut dyn std::io::Write, _: &[String]) -> rsbinder::Result<()> {
        Ok(())
    }
}

fn play(link: &mut ActorLink, object: &SIBinder) -> Result<(), BenchError> {
    while let Some(CallsOrder { op, calls }) = link.receive()? {
        let carried = Carried::by(op);
        let call = || match op {
            Op::Ping => object.ping_binder().map(|()| Back::Nothing),
            Op::Bytes(_) => {
                let mut reply = repeat(object, REPEAT_BYTES, |data| data.write(&*carried.bytes))?;
                reply.read().map(Back::Bytes)
            }
            Op::String => {
                let mut reply = repeat(object, REPEAT_STRING, |data| data.write(&*carried.text))?;
                reply.read().map(Back::Text)
            }
            Op::Binder => {
                let sent = new_service();
                let mut reply = repeat(object, REPEAT_BINDER, |data| data.write(&sent))?;
                Ok(Back::Binders([reply.read()?, sent]))
            }
        };
        let check = |back| {
            if carried.is_echo(&back) { Ok(()) } else { Err(StatusCode::BadValue) }
        };
        let taken: Result<Vec<u64>, StatusCode> = time(calls, call, check).collect();
        link.answer(&taken.map_err(|status| failure(op, &status))?)?;
    }
    Ok(())
}

fn repeat(
    object: &SIBinder,
    code: u32,
    write: impl FnOnce(&mut Parcel) -> rsbinder::Result<()>,
) -> rsbinder::Result<Parcel> {
    let remote = object.as_remote().ok_or(StatusCode::BadType)?;
    // The proxy does not know its interface, of which the descriptor is all that is sent.
    let mut data = remote.prepare_transact(false)?;
    data.write(DESCRIPTOR)?;
    write(&mut data)?;
    let reply = remote.submit_transact(code, &data, 0)?;
    let mut reply = reply.ok_or(StatusCode::UnexpectedNull)?;
    match reply.read::<i32>()? {
        0 => Ok(reply),
        _ => Err(StatusCode::FailedTransaction),
    }
}
