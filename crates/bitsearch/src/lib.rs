//! First, last and next set or clear bits in words.

#![no_std]
