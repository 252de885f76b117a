//! A transaction's data on its way into the receiver's buffer, and the objects in it.
//!
//! An object names a node in its sender's terms: by pointer if it owns the node, by handle if not.
//! The receiver gets it in its own terms, and the buffer holds on to it until it is freed.

use alloc::vec::Vec;

use binder_uapi::{
    BINDER_TYPE_BINDER, BINDER_TYPE_FD, BINDER_TYPE_FDA, BINDER_TYPE_HANDLE, BINDER_TYPE_PTR,
    BINDER_TYPE_WEAK_BINDER, BINDER_TYPE_WEAK_HANDLE, FlatBinderObject,
};

use crate::buffer::{BufferHold, Layout};
use crate::context::Context;
use crate::descriptors::DescriptorArray;
use crate::env::ReceiveBuffers;
use crate::error::Errno;
use crate::fetch::{Part, Payload};
use crate::image::{Image, ObjectResources};
use crate::node::{NodeKey, Strength};
use crate::process::ProcessKey;
use crate::scatter::translate_piece;
use crate::slice::SLICE_BYTES;
use crate::thread::ThreadKey;
use crate::transaction::Draft;

/// A transaction's data, and how much of it is in the receiver's buffer.
#[derive(Debug)]
pub(crate) struct Filling {
    image: Image,
    offsets: Vec<u64>,
    /// The object to translate next, as an index of `offsets`.
    next: usize,
    end_of_previous: usize,
    /// The rest of the array of descriptors at `next`, if that is one.
    array: DescriptorArray,
    /// Bytes of the image that are in the buffer, and that the receiver can see.
    visible: u32,
}

impl Filling {
    fn new(image: Image, offsets: Vec<u64>) -> Self {
        let array = DescriptorArray::default();
        Self { image, offsets, next: 0, end_of_previous: 0, array, visible: 0 }
    }

    /// Which bytes of its buffer the receiver cannot see yet once all is there: where they begin, and
    /// how many.
    pub(crate) fn unseen(&self, layout: &Layout) -> (u32, u32) {
        (layout.start + self.visible, layout.slot_len - self.visible)
    }
}

/// How far a slice has come.
#[derive(Debug)]
pub(crate) enum Filled {
    /// All is in the buffer.
    Whole,
    /// The next slice goes on with it.
    Partly(Filling),
}

impl Context {
    /// Puts data and offsets into the buffer, each object translated: the receiver never sees an
    /// object as its sender wrote it, and the sender cannot change one after it was checked.
    ///
    /// # Errors
    ///
    /// `EFAULT`, `EINVAL`, `EPERM`, `EBADF` or `ENOMEM`; `resources` then has what was counted and
    /// captured so far.
    pub(crate) fn fill_data(
        &mut self,
        draft: &Draft<'_>,
        layout: &Layout,
        payload: &mut Payload,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<Filled, Errno> {
        let Payload { offsets, bytes, placed_bytes, fault, .. } = payload;
        let fault = *fault;
        if fault == Some(Part::Offsets) {
            return Err(Errno::EFAULT);
        }
        let sizes = [u64::from(layout.offsets_len), draft.data.buffers_size];
        if sizes.iter().any(|size| !size.is_multiple_of(8)) {
            return Err(Errno::EINVAL);
        }
        if fault == Some(Part::Data) {
            return Err(Errno::EFAULT);
        }
        if offsets.is_empty() && (*placed_bytes > 0 || bytes.len() <= SLICE_BYTES as usize) {
            if layout.data_len > 0 && *placed_bytes == 0 {
                memory.store(draft.receiver, layout.start, bytes)?;
            }
            return Ok(Filled::Whole);
        }
        let receiver = &self.processes[draft.receiver];
        let base = receiver.mapping.as_ref().map(|mapping| mapping.address_of(layout.start));
        let room = usize::try_from(draft.data.buffers_size).map_err(|_| Errno::EINVAL)?;
        let base = base.ok_or(Errno::ESRCH)?;
        let (bytes, offsets) = (core::mem::take(bytes), core::mem::take(offsets));
        let image = Image::new(layout, base, room, bytes, fault);
        let mut filling = Filling::new(image, offsets);
        if !self.fill_slice(draft, layout, &mut filling, resources, memory)? {
            return Ok(Filled::Partly(filling));
        }
        // For what the next send carries.
        (payload.bytes, payload.offsets) = (filling.image.bytes, filling.offsets);
        Ok(Filled::Whole)
    }

    /// Goes on with [`fill_data`](Self::fill_data) for a slice. Says whether all is in the buffer.
    pub(crate) fn fill_slice(
        &mut self,
        draft: &Draft<'_>,
        layout: &Layout,
        filling: &mut Filling,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<bool, Errno> {
        let offsets_start = (layout.offsets_start - layout.start) as usize;
        while let Some(offset) = filling.offsets.get(filling.next) {
            if !self.slice.has_room() {
                return Ok(false);
            }
            self.slice.spend(1);
            if filling.array.is_empty() {
                let start = usize::try_from(*offset).map_err(|_| Errno::EFAULT)?;
                // What lies between two objects cannot be copied if that is less than nothing.
                if start < filling.end_of_previous || start > filling.image.data_len() {
                    return Err(Errno::EFAULT);
                }
                filling.image.put(offsets_start + filling.next * size_of::<u64>(), offset);
                filling.end_of_previous =
                    self.translate_at(draft, filling, start, resources, memory)?;
            } else {
                let Filling { image, array, .. } = filling;
                self.translate_in_array(draft, image, array, resources, memory)?;
            }
            // All files of an array come before the next object.
            filling.next += usize::from(filling.array.is_empty());
        }
        filling.image.require_piece(usize::MAX)?;
        let left = &filling.image.filled()[filling.visible as usize..];
        let start = layout.start + filling.visible;
        if left.len() <= SLICE_BYTES as usize {
            memory.store(draft.receiver, start, left)?;
            return Ok(true);
        }
        memory.store(draft.receiver, start, &left[..SLICE_BYTES as usize])?;
        memory.publish(draft.receiver, start, SLICE_BYTES)?;
        filling.visible += SLICE_BYTES;
        Ok(false)
    }

    /// Translates the next object, which is at `start`, in place and returns where it ends. If it is an
    /// array of descriptors, the files of these are to be captured next.
    fn translate_at(
        &mut self,
        draft: &Draft<'_>,
        filling: &mut Filling,
        start: usize,
        resources: &mut ObjectResources,
        memory: &mut dyn ReceiveBuffers,
    ) -> Result<usize, Errno> {
        let Filling { image, next, array, .. } = filling;
        if !start.is_multiple_of(4) {
            return Err(Errno::EINVAL);
        }
        let held = &mut resources.held;
        let translated = match image.object(start)? {
            BINDER_TYPE_BINDER => {
                self.translate_own(draft, &image.object(start)?, Strength::Strong, held)?
            }
            BINDER_TYPE_WEAK_BINDER => {
                self.translate_own(draft, &image.object(start)?, Strength::Weak, held)?
            }
            BINDER_TYPE_HANDLE => {
                self.translate_handle(draft, &image.object(start)?, Strength::Strong, held)?
            }
            BINDER_TYPE_WEAK_HANDLE => {
                self.translate_handle(draft, &image.object(start)?, Strength::Weak, held)?
            }
            BINDER_TYPE_FD => {
                return self.translate_descriptor(draft, image, start, resources, memory);
            }
            BINDER_TYPE_FDA => {
                let end;
                (*array, end) = DescriptorArray::at(image, start)?;
                return Ok(end);
            }
            BINDER_TYPE_PTR => return translate_piece(image, *next as u64, start),
            _ => return Err(Errno::EINVAL),
        };
        Ok(image.put(start, &translated))
    }

    /// The sender's own node becomes a handle of the receiver.
    fn translate_own(
        &mut self,
        draft: &Draft<'_>,
        object: &FlatBinderObject,
        strength: Strength,
        held: &mut Vec<BufferHold>,
    ) -> Result<FlatBinderObject, Errno> {
        let node = self.own_node(draft.sender, object)?;
        self.lend(draft, node, object, strength, Some(draft.thread), held)
    }

    /// A handle of the sender becomes the receiver's own node, or a handle of the receiver.
    fn translate_handle(
        &mut self,
        draft: &Draft<'_>,
        object: &FlatBinderObject,
        strength: Strength,
        held: &mut Vec<BufferHold>,
    ) -> Result<FlatBinderObject, Errno> {
        let node = self.node_of_handle(draft.sender, object.handle(), strength)?;
        let state = &self.nodes[node];
        if state.owner == Some(draft.receiver) {
            let kind = match strength {
                Strength::Strong => BINDER_TYPE_BINDER,
                Strength::Weak => BINDER_TYPE_WEAK_BINDER,
            };
            let own = FlatBinderObject {
                kind,
                flags: object.flags,
                binder: state.ptr,
                cookie: state.cookie,
            };
            self.hold_locally(node, strength);
            held.push(BufferHold::Node(node, strength));
            if self.journal.is_traced() {
                self.trace_node(draft, node, None);
            }
            return Ok(own);
        }
        self.lend(draft, node, object, strength, None, held)
    }

    /// Gives the receiver a handle of the node, for as long as the buffer holds it. `by` is the
    /// owner's thread, if it is the owner that sends.
    fn lend(
        &mut self,
        draft: &Draft<'_>,
        node: NodeKey,
        object: &FlatBinderObject,
        strength: Strength,
        by: Option<ThreadKey>,
        held: &mut Vec<BufferHold>,
    ) -> Result<FlatBinderObject, Errno> {
        let reference = self.refer(draft.receiver, node, strength, by)?;
        held.push(BufferHold::Reference(reference, strength));
        let handle = self.references[reference].handle;
        if self.journal.is_traced() {
            self.trace_node(draft, node, Some(handle));
        }
        let handle = u64::from(handle);
        let kind = match strength {
            Strength::Strong => BINDER_TYPE_HANDLE,
            Strength::Weak => BINDER_TYPE_WEAK_HANDLE,
        };
        Ok(FlatBinderObject { kind, flags: object.flags, binder: handle, cookie: 0 })
    }

    fn node_of_handle(
        &self,
        process: ProcessKey,
        handle: u32,
        strength: Strength,
    ) -> Result<NodeKey, Errno> {
        let reference = match strength {
            Strength::Strong => self.strong_reference(process, handle),
            Strength::Weak => self.reference(process, handle),
        };
        reference.map(|reference| self.references[reference].node).ok_or(Errno::EINVAL)
    }
}
