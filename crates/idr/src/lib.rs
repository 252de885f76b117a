//! Small ids: a pool that hands out the smallest free one.

#![no_std]
