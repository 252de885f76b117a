//! Serves binderfs over /dev/fuse: FUSE requests in, binder-core, replies out.
