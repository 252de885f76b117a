//! Requests about lanes, and the look at what has become of [`lanes`](super::lanes).

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Instant;

use binder_core::{Caller, DirectCall, Errno, ProcessKey, Waits};
use binder_frontend::RequestContext;
use binder_lane::layout::SEGMENT_BYTES;
use binder_lane::{LaneId, NoteKind};
use binder_os::credentials::{ThreadReference, overflow_uid};
use binder_os::{client_files, priority, ring_memory};
use binder_ring::layout::{LANES, SLOTS};
use binder_uapi::{LANE_FLAGS, LANE_PAGE_BYTES, LaneAccept, LaneOpen, LaneRoom};
use fuse_wire::{Header, reply};
use zerocopy::{FromBytes, IntoBytes};

use super::file::RingFile;
use super::lanes::{FILES, Lane, LaneAnswer, LaneOffer, LaneThread, PlaceInRing};
use crate::client_file::ClientFile;
use crate::device::{Deferred, DeviceState, DeviceWork, Job};
use crate::files::HeldFile;
use crate::quota::Charge;
use crate::shared::SessionShared;
use crate::strings::errno;
use crate::wire::send;

/// How many lanes may lead to one open file: each costs its threads a look.
const MAX_OF_SERVER: usize = LANES - SLOTS as usize;
/// How many lanes a user's open files of a device may call by.
const MAX_OF_USER: usize = 64;
/// How many a device may have: each is looked at whenever something was done.
const MAX_OF_DEVICE: usize = 128;
/// What a thread asks for that wants a lane.
struct LaneWish {
    process: ProcessKey,
    tid: u32,
    uid: u32,
    handle: u32,
    ring: Arc<RingFile>,
    file: Arc<ClientFile>,
    segment: OwnedFd,
    thread: ThreadReference,
    charges: [Charge; FILES],
    overflow_uid: u32,
}

impl DeviceState {
    /// Opens a lane as a thread wishes. Returns its number, and its place in the thread's ring.
    fn open_lane(&mut self, wish: LaneWish) -> Result<LaneOpen, Errno> {
        let LaneWish {
            process,
            tid,
            uid,
            handle,
            ring,
            file,
            segment,
            thread: ThreadReference { pidfd, numbers },
            charges,
            overflow_uid,
        } = wish;
        if self.is_traced() {
            return Err(Errno::EAGAIN);
        }
        let target = self.frontend.context().lane_target(process, handle)?;
        let server_file = self.frontend.file(target.server).ok_or(Errno::EINVAL)?;
        let server = server_file.ring().filter(|ring| ring.serves_lanes()).ok_or(Errno::EPERM)?;
        // What waits otherwise than in a read looks at no lane meanwhile.
        let may_serve = server_file.waits_in_reads() && !server_file.has_filter();
        if !may_serve || !have_same_priority(tid, server_file.pid) {
            return Err(Errno::EPERM);
        }
        let context = self.frontend.context();
        let sender_tid = match numbers {
            Some(numbers) => context.thread_seen_by(process, &numbers, target.server)?,
            None => 0,
        };
        let sender_euid = context.user_seen_by(target.server, uid, overflow_uid)?;
        let offer = LaneOffer { segment, pidfd, sender_tid, sender_euid, _charges: charges };
        // A thread has one; what it had is given back when it asks for another.
        let had = |lane: &&mut Lane| lane.caller.process == process && lane.caller.tid == tid;
        self.lanes.lanes.iter_mut().filter(had).for_each(Lane::revoke);
        let payer = file.payer().uid;
        let slot = ring.slot_of(tid).ok_or(Errno::EPERM)?;
        self.require_room_for_lane(target.server, payer)?;
        let (place, server_place) = (ring.free_lane_place(), server.free_lane_place());
        let (place, server_place) = place.zip(server_place).ok_or(Errno::EMFILE)?;
        let id = self.lanes.next_id();
        self.lanes.last = Some(id);
        let end = PlaceInRing::new(ring, place);
        let caller = LaneThread { process, tid, slot, uid, payer, end };
        let server = PlaceInRing::new(server, server_place);
        server.ring.set_gate(true);
        caller.end.set(Some(id));
        server.set(Some(id));
        server.ring.count_offers(1);
        self.frontend.context_mut().hold_lane(&target);
        self.lanes.lanes.push(Lane {
            id,
            caller,
            handle,
            target,
            server,
            offer: Some(offer),
            is_revoked: false,
            granted_at: Instant::now(),
            may_have_changed: true,
            is_used: true,
        });
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let server_euid = target.server_euid;
        Ok(LaneOpen { handle, fd: 0, id: id.number(), place, server_euid })
    }

    /// Looks whether a user's thread may have a lane to a server. Where all are taken one is taken back, so that it may soon.
    fn require_room_for_lane(&mut self, server: ProcessKey, payer: u32) -> Result<(), Errno> {
        let is_to_server = |lane: &Lane| lane.target.server == server;
        let is_of_user = |lane: &Lane| lane.caller.payer == payer;
        // A server that keeps lanes which were taken back, by a claim to serve them, keeps them from its own callers alone.
        let is_granted = |lane: &Lane| !lane.is_revoked;
        if self.lanes.count(is_of_user) >= MAX_OF_USER {
            self.lanes.make_room(payer, is_of_user);
        } else if self.lanes.count(is_to_server) >= MAX_OF_SERVER {
            self.lanes.make_room(payer, is_to_server);
        } else if self.lanes.count(is_granted) >= MAX_OF_DEVICE {
            self.lanes.make_room(payer, is_granted);
        } else {
            return Ok(());
        }
        Err(Errno::EMFILE)
    }

    /// Takes the next lane that is offered to a process.
    fn take_offer(&mut self, process: ProcessKey) -> Result<(LaneAccept, LaneOffer), Errno> {
        let offered = |lane: &&mut Lane| lane.target.server == process && lane.offer.is_some();
        let lane = self.lanes.lanes.iter_mut().find(offered).ok_or(Errno::ENOENT)?;
        let offer = lane.offer.take().ok_or(Errno::ENOENT)?;
        lane.server.ring.count_offers(-1);
        let accepted = LaneAccept {
            socket: 0,
            id: lane.id.number(),
            place: u32::try_from(lane.server.place).unwrap_or(u32::MAX),
            sender_pid: lane.target.sender_pid,
            sender_euid: offer.sender_euid,
            sender_tid: offer.sender_tid,
            ptr: lane.target.name.ptr,
            cookie: lane.target.name.cookie,
        };
        Ok((accepted, offer))
    }

    /// Takes over the call of a lane, which thread `tid` of a process makes or serves.
    ///
    /// Either may lie. What is believed is what each says of itself: that it makes a call of this lane, or serves one. Where the caller
    /// says nothing, or is gone, its server serves a call without a caller.
    fn adopt_from_lane(&mut self, process: ProcessKey, tid: u32, id: u32) -> Result<(), Errno> {
        let lanes = &self.lanes.lanes;
        let lane = lanes.iter().find(|lane| lane.id.number() == id).ok_or(Errno::ESRCH)?;
        let (id, caller, server) = (lane.id, &lane.caller, &lane.server);
        let is_asked_by_caller = caller.process == process && caller.tid == tid;
        let asking = if is_asked_by_caller {
            caller.end.ring.lane_note(caller.slot)
        } else if lane.target.server == process {
            server.ring.lane_note(server.ring.slot_of(tid).ok_or(Errno::EPERM)?)
        } else {
            return Err(Errno::EPERM);
        };
        if asking.is_adopted(id) {
            return Ok(());
        }
        let slot = lane.serving_slot().ok_or(Errno::ESRCH)?;
        let server_tid = server.ring.tid_of(slot).ok_or(Errno::ESRCH)?;
        let server_note = server.ring.lane_note(slot);
        if !server_note.adopt(id, NoteKind::Serves) {
            return Err(Errno::ESRCH);
        }
        let caller_note = caller.end.ring.lane_note(caller.slot);
        let from = Caller {
            process: caller.process,
            tid: caller.tid,
            // Its server has served no other.
            euid: caller.uid,
            waits: Waits::UntilReady,
        };
        let from = caller_note.adopt(id, NoteKind::Calls).then_some(from);
        if from.is_none() && is_asked_by_caller {
            server_note.give_back(id, NoteKind::Serves);
            return Err(Errno::ESRCH);
        }
        let [code, flags] = caller.end.ring.lane_call(caller.slot);
        // A claim, and such calls have no other.
        let flags = flags & LANE_FLAGS;
        let (target, handle) = (lane.target, lane.handle);
        let context = self.frontend.context_mut();
        let mut adopt = |from| {
            context.adopt_call(&DirectCall { from, target, handle, code, flags, server_tid })
        };
        let mut adopted = adopt(from);
        if adopted.is_err() && from.is_some() {
            caller_note.give_back(id, NoteKind::Calls);
            if !is_asked_by_caller {
                adopted = adopt(None);
            }
        }
        adopted.inspect_err(|_| server_note.give_back(id, NoteKind::Serves))
    }

    fn close_lane(&mut self, process: ProcessKey, id: u32) {
        let is_its = |it: &&mut Lane| it.id.number() == id && it.caller.process == process;
        self.lanes.lanes.iter_mut().filter(is_its).for_each(Lane::revoke);
    }

    /// Takes the lanes of a process back. Says whether calls are under way in them.
    pub(crate) fn revoke_lanes_of(&mut self, process: ProcessKey) -> bool {
        self.lanes.revoke_of(process)
    }

    /// Whether a process makes or serves calls by lanes, of which the driver knows nothing else.
    pub(crate) fn is_in_lane_call(&self, process: ProcessKey) -> bool {
        self.lanes.is_in_call(process)
    }

    /// Takes all lanes back.
    pub(crate) fn revoke_lanes(&mut self) {
        self.lanes.revoke_all();
    }

    /// Counts the calls by lanes, of which clients alone have known.
    pub(crate) fn count_lane_calls(&mut self) {
        let context = self.frontend.context_mut();
        self.lanes.lanes.iter_mut().for_each(|lane| lane.count_calls(context));
    }

    /// Takes lanes back that are not used.
    pub(crate) fn end_idle_turn_of_lanes(&mut self) {
        self.count_lane_calls();
        self.lanes.end_idle_turn();
    }

    /// Sees what has become of lanes, once something was done with the device: takes back those that are not what they were,
    /// lets go of what those held, and tells servers whether their threads may look for calls.
    pub(crate) fn see_to_lanes(&mut self) {
        if self.lanes.is_empty() {
            return;
        }
        let context = self.frontend.context();
        for lane in &mut self.lanes.lanes {
            if !std::mem::take(&mut lane.may_have_changed) {
                continue;
            }
            let Lane { caller, handle, target, server, .. } = &*lane;
            let server_file = self.frontend.file(target.server);
            let is_as_it_was = caller.end.ring.is_current()
                && server.ring.is_current()
                && server_file.is_some_and(|file| file.waits_in_reads())
                && caller.end.ring.slot_of(caller.tid) == Some(caller.slot)
                && context.lane_target(caller.process, *handle) == Ok(*target);
            if !is_as_it_was {
                lane.revoke();
            }
        }
        // A thread of a server that serves a call of a lane needs the object.
        let ended: Vec<Lane> = self.lanes.lanes.extract_if(.., |it| it.has_ended()).collect();
        let is_any = !ended.is_empty();
        let context = self.frontend.context_mut();
        for mut lane in ended {
            lane.count_calls(context);
            context.release_lane(&lane.target);
            let server = lane.target.server;
            if self.lanes.lanes.iter().all(|other| other.target.server != server) {
                // Its threads look for nothing: no lane is left by which they would be told of work.
                lane.server.ring.set_gate(true);
            }
        }
        if is_any {
            self.frontend.carry_out_effects();
        }
        let context = self.frontend.context();
        // Most lanes of a server stand beside one another.
        let mut told = None;
        for lane in &self.lanes.lanes {
            let server = lane.target.server;
            let ring = &lane.server.ring;
            if told.replace(server) == Some(server) {
                continue;
            }
            ring.tell_work(context.line_of_work(server), context.idle_threads(server));
            ring.set_gate(context.wants_idle_thread(server));
        }
    }
}

/// Whether a thread and another process are given processors alike: by the lane the one does the other's work.
fn have_same_priority(tid: u32, pid: u32) -> bool {
    let of = |thread| {
        let priority = priority::of(thread).ok().flatten()?;
        Some((priority.policy, priority.level))
    };
    of(tid).is_some_and(|own| of(pid) == Some(own))
}

impl SessionShared {
    /// A thread asks for a lane.
    pub(crate) fn open_lane(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
    ) {
        let unique = header.unique;
        let wish = self.lane_wish(header, file, process, data);
        let wish = match wish {
            Ok(wish) => wish,
            Err(error) => return self.refuse(unique, error),
        };
        self.do_for_lane(file, process, header.pid, move |state| {
            let answer = LaneAnswer::Opened(state.open_lane(wish));
            state.defer(Deferred::AnswerLane { unique, answer });
        });
    }

    fn lane_wish(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
    ) -> Result<LaneWish, Errno> {
        let LaneOpen { handle, fd, .. } =
            LaneOpen::read_from_bytes(data).map_err(|_| Errno::EINVAL)?;
        let (tid, uid) = (header.pid, header.uid);
        let ring = file.ring().filter(|ring| ring.calls_by_lanes()).ok_or(Errno::EINVAL)?;
        // A thread that calls by a lane waits there, whatever the file's mode.
        let is_nonblocking = file.mode().is_nonblocking();
        if is_nonblocking || file.has_filter() || !file.is_caller(tid, uid) {
            return Err(Errno::EPERM);
        }
        let charges = [file.another_charge()?, file.another_charge()?];
        let segment = file.take_memfd(tid, fd)?;
        ring_memory::check_segment(&segment, SEGMENT_BYTES).map_err(|error| errno(&error))?;
        let thread = file.reference_to_caller(tid).ok_or(Errno::EPERM)?;
        let file = file.clone();
        let overflow_uid = overflow_uid();
        Ok(LaneWish {
            process,
            tid,
            uid,
            handle,
            ring,
            file,
            segment,
            thread,
            charges,
            overflow_uid,
        })
    }

    /// A thread takes a lane that its process is offered.
    pub(crate) fn accept_lane(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
    ) {
        let (unique, tid) = (header.unique, header.pid);
        let socket = LaneAccept::read_from_bytes(data).map_err(|_| Errno::EINVAL);
        let socket = socket.and_then(|wanted| {
            let charge = file.another_charge()?;
            file.take_file(tid, wanted.socket, charge, self.pool.clone())
        });
        let socket = match socket {
            Ok(socket) => socket,
            Err(error) => return self.refuse(unique, error),
        };
        self.do_for_lane(file, process, tid, move |state| {
            let answer = LaneAnswer::Taken { socket, taken: state.take_offer(process) };
            state.defer(Deferred::AnswerLane { unique, answer });
        });
    }

    /// A thread has part of its receive buffer set aside, for what comes by lanes.
    pub(crate) fn set_aside_for_lanes(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
    ) {
        let (unique, tid) = (header.unique, header.pid);
        let wish = LaneRoom::read_from_bytes(data).ok();
        let pages = wish.and_then(|wish| u32::try_from(wish.pages).ok());
        let bytes = pages.and_then(|pages| pages.checked_mul(LANE_PAGE_BYTES));
        let Some(bytes) = bytes else { return self.refuse(unique, Errno::EINVAL) };
        // A thread that serves lanes sleeps on several words.
        if !ring_memory::can_sleep_on_several() {
            return self.refuse(unique, Errno::EPERM);
        }
        // Filters that are not known yet were not there when the ring was made.
        if !self.filter_verdict(file, tid).is_ok_and(|verdict| verdict.allows_lanes) {
            return self.refuse(unique, Errno::EPERM);
        }
        self.do_for_lane(file, process, tid, move |state| {
            let room = state.frontend.context_mut().set_aside(process, bytes);
            let room = room.map(|room| LaneRoom {
                pages: (room.end - room.start) / u64::from(LANE_PAGE_BYTES),
                address: room.start,
            });
            state.defer(Deferred::AnswerLane { unique, answer: LaneAnswer::Room(room) });
        });
    }

    /// A thread has its call taken over, or gives its lane back.
    pub(crate) fn end_in_lane(
        &self,
        header: &Header,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        data: &[u8],
        is_adoption: bool,
    ) {
        let (unique, tid) = (header.unique, header.pid);
        let Ok(id) = u32::read_from_bytes(data) else {
            return self.refuse(unique, Errno::EINVAL);
        };
        self.do_for_lane(file, process, tid, move |state| {
            let done = if is_adoption {
                state.adopt_from_lane(process, tid, id)
            } else {
                state.close_lane(process, id);
                Ok(())
            };
            let answer = LaneAnswer::Ended(done);
            state.defer(Deferred::AnswerLane { unique, answer });
        });
    }

    /// Takes over what a thread does by a lane that makes an ioctl by itself, where the library does not know: it asks for that in
    /// its own calls.
    pub(super) fn adopt_call_below(
        &self,
        file: &Arc<ClientFile>,
        request: RequestContext,
        lane: LaneId,
    ) {
        let (process, tid) = request.caller();
        self.do_for_lane(file, process, tid, move |state| {
            // One that no thread has come to is not the driver's yet.
            let _ = state.adopt_from_lane(process, tid, lane.number());
        });
    }

    /// Answers a request about lanes. A thread that takes an offer gets what comes with it first.
    pub(crate) fn answer_lane(&self, unique: u64, answer: LaneAnswer) {
        let done = match answer {
            LaneAnswer::Opened(opened) => opened.map(|it| it.as_bytes().to_vec()),
            LaneAnswer::Taken { socket, taken } => taken.and_then(|(accepted, offer)| {
                send_offer(&socket, &offer)?;
                Ok(accepted.as_bytes().to_vec())
            }),
            LaneAnswer::Room(room) => room.map(|it| it.as_bytes().to_vec()),
            LaneAnswer::Ended(ended) => ended.map(|()| Vec::new()),
        };
        match done {
            Ok(bytes) => send(&self.fuse, &reply::ioctl(unique, 0, &bytes)),
            Err(error) => self.refuse(unique, error),
        }
    }

    fn do_for_lane(
        &self,
        file: &Arc<ClientFile>,
        process: ProcessKey,
        tid: u32,
        work: impl FnOnce(&mut DeviceState) + Send + 'static,
    ) {
        let work: DeviceWork = Box::new(work);
        self.submit_in_line(&file.device, Job::WorkFor((process, tid), work));
    }
}

fn send_offer(socket: &HeldFile, offer: &LaneOffer) -> Result<(), Errno> {
    let to = socket.descriptor().ok_or(Errno::EBADF)?;
    let files = [offer.segment.as_fd(), offer.pidfd.as_fd()];
    client_files::send(to, files).map_err(|error| errno(&io::Error::from(error)))
}
