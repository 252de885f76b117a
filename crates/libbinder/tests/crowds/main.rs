//! A server with very many connections, in a process of its own: idle ones, and those of peers that mean it ill.

mod attacks;
mod idle;
mod server;
