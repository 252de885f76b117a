//! What a filter of system calls does about a call, as the kernel decides it: the program, in the language of classic BPF, is run on
//! the call's number and arguments.
//!
//! Arguments that differ from call to call need not be known. What depends on them is not known either.

use libc::sock_filter;

use super::filter::{ARCH, NUMBER, low};

/// The words of memory that a program has.
const SCRATCH_WORDS: usize = 16;
/// The length of `seccomp_data`, which programs can ask for.
const DATA_BYTES: u32 = 64;

/// Parts of an instruction.
const CLASS: u32 = 0x07;
const OPERATION: u32 = 0xf0;
const MODE: u32 = 0xe0;
const RETURNED: u32 = 0x18;

/// A system call as a filter sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FilteredCall {
    /// As the kernel numbers them.
    pub(super) architecture: u32,
    pub(super) number: u32,
    /// Those that are known.
    pub(super) arguments: [Option<u64>; 6],
}

impl FilteredCall {
    /// The word of `seccomp_data` that begins there. Where the call was made from is not known.
    fn word(&self, offset: u32) -> Option<u32> {
        match offset {
            NUMBER => Some(self.number),
            ARCH => Some(self.architecture),
            _ => {
                let at = offset.checked_sub(low(0))?;
                let value = (*self.arguments.get(at as usize / size_of::<u64>())?)?;
                let is_upper = at % 8 == 4;
                let half = if is_upper { value >> 32 } else { value & u64::from(u32::MAX) };
                u32::try_from(half).ok()
            }
        }
    }
}

/// What a filter returns for a call. `None` if that depends on what is not known, or the filter is none that the kernel has.
pub(super) fn returned(filter: &[sock_filter], call: &FilteredCall) -> Option<u32> {
    let (mut accumulator, mut index) = (Some(0), Some(0));
    let mut scratch = [None; SCRATCH_WORDS];
    let mut at = 0;
    // Jumps lead forwards, so this ends.
    loop {
        let &sock_filter { code, jt, jf, k } = filter.get(at)?;
        let code = u32::from(code);
        let place = k as usize;
        let operand = if code & libc::BPF_X == 0 { Some(k) } else { index };
        let loaded = || match code & MODE {
            libc::BPF_IMM => Some(k),
            libc::BPF_ABS => call.word(k),
            libc::BPF_MEM => *scratch.get(place)?,
            libc::BPF_LEN => Some(DATA_BYTES),
            _ => None,
        };
        at += 1;
        match code & CLASS {
            libc::BPF_LD => accumulator = loaded(),
            libc::BPF_LDX => index = loaded(),
            libc::BPF_ST => *scratch.get_mut(place)? = accumulator,
            libc::BPF_STX => *scratch.get_mut(place)? = index,
            libc::BPF_ALU if code & OPERATION == libc::BPF_DIV && operand == Some(0) => {
                return Some(libc::SECCOMP_RET_KILL_THREAD);
            }
            libc::BPF_ALU => accumulator = computed(code & OPERATION, accumulator, operand),
            libc::BPF_JMP if code & OPERATION == libc::BPF_JA => at = at.checked_add(place)?,
            libc::BPF_JMP => {
                let holds = holds(code & OPERATION, accumulator?, operand?)?;
                at += usize::from(if holds { jt } else { jf });
            }
            libc::BPF_RET if code & RETURNED == libc::BPF_A => return accumulator,
            libc::BPF_RET => return Some(k),
            _ if code & OPERATION == libc::BPF_TAX => index = accumulator,
            _ => accumulator = index,
        }
    }
}

fn computed(operation: u32, accumulator: Option<u32>, operand: Option<u32>) -> Option<u32> {
    let value = accumulator?;
    if operation == libc::BPF_NEG {
        return Some(value.wrapping_neg());
    }
    let operand = operand?;
    match operation {
        libc::BPF_ADD => Some(value.wrapping_add(operand)),
        libc::BPF_SUB => Some(value.wrapping_sub(operand)),
        libc::BPF_MUL => Some(value.wrapping_mul(operand)),
        libc::BPF_DIV => value.checked_div(operand),
        libc::BPF_OR => Some(value | operand),
        libc::BPF_AND => Some(value & operand),
        libc::BPF_XOR => Some(value ^ operand),
        libc::BPF_LSH => Some(value.wrapping_shl(operand)),
        libc::BPF_RSH => Some(value.wrapping_shr(operand)),
        _ => None,
    }
}

fn holds(comparison: u32, value: u32, operand: u32) -> Option<bool> {
    match comparison {
        libc::BPF_JEQ => Some(value == operand),
        libc::BPF_JGT => Some(value > operand),
        libc::BPF_JGE => Some(value >= operand),
        libc::BPF_JSET => Some(value & operand != 0),
        _ => None,
    }
}

#[cfg(test)]
#[expect(unsafe_code, reason = "children are forked, and confine themselves")]
mod tests {
    use std::io::{self, Read, Write};

    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::super::filter::{ARCHITECTURES, JUMP, LOAD, RETURN, number};
    use super::*;

    fn instruction(code: u32, k: u32, (jt, jf): (u8, u8)) -> sock_filter {
        sock_filter { code: u16::try_from(code).unwrap(), jt, jf, k }
    }

    fn step(code: u32, k: u32) -> sock_filter {
        instruction(code, k, (0, 0))
    }

    const JUMP_IF_EQUAL: u32 = JUMP | libc::BPF_JEQ;

    /// Any step that the kernel takes, all of whose jumps lead no further than `behind` steps.
    fn any_step(behind: u8) -> impl Strategy<Value = sock_filter> {
        let number = prop_oneof![0..40_u32, any::<u32>()];
        let word = (0..16_u32).prop_map(|at| if at == 2 || at == 3 { 0 } else { at * 4 });
        let load = select(vec![libc::BPF_LD, libc::BPF_LDX]);
        let store = select(vec![libc::BPF_ST, libc::BPF_STX]);
        let by_index = select(vec![0, libc::BPF_X]);
        let operations = [libc::BPF_ADD, libc::BPF_SUB, libc::BPF_MUL, libc::BPF_OR, libc::BPF_AND];
        let others = [libc::BPF_XOR, libc::BPF_DIV];
        let operation = select([&operations[..], &others[..]].concat());
        let shift = select(vec![libc::BPF_LSH, libc::BPF_RSH]);
        let comparison = select(vec![libc::BPF_JEQ, libc::BPF_JGT, libc::BPF_JGE, libc::BPF_JSET]);
        prop_oneof![
            4 => word.prop_map(|at| step(LOAD, at)),
            1 => load.clone().prop_map(|to| step(to | libc::BPF_W | libc::BPF_LEN, 0)),
            2 => (load.clone(), number.clone()).prop_map(|(to, k)| step(to | libc::BPF_IMM, k)),
            2 => (load, 0..16_u32).prop_map(|(to, k)| step(to | libc::BPF_MEM, k)),
            2 => (store, 0..16_u32).prop_map(|(from, k)| step(from, k)),
            4 => (operation, by_index.clone(), number.clone())
                .prop_map(|(it, by, k)| step(libc::BPF_ALU | it | by, k.max(1))),
            2 => (shift, by_index.clone(), 0..32_u32)
                .prop_map(|(it, by, k)| step(libc::BPF_ALU | it | by, k)),
            1 => Just(step(libc::BPF_ALU | libc::BPF_NEG, 0)),
            2 => select(vec![libc::BPF_TAX, libc::BPF_TXA])
                .prop_map(|it| step(libc::BPF_MISC | it, 0)),
            1 => (0..=u32::from(behind)).prop_map(|k| step(libc::BPF_JMP | libc::BPF_JA, k)),
            4 => (comparison, by_index, number, 0..=behind, 0..=behind).prop_map(
                |(it, by, k, jt, jf)| instruction(libc::BPF_JMP | it | by, k, (jt, jf))
            ),
        ]
    }

    /// The call that programs of the test decide about, and how often: by 12 bits of what they have computed each time.
    const CALL: libc::c_long = libc::SYS_getppid;
    const SHIFTS: [u64; 3] = [0, 12, 24];

    /// A filter that takes these steps for the call, and has it fail with 12 bits of the result, from the bit on that is its last argument.
    fn filter_of(steps: &[sock_filter]) -> Vec<sock_filter> {
        let mut filter = vec![
            step(LOAD, NUMBER),
            instruction(JUMP_IF_EQUAL, number(CALL), (1, 0)),
            step(RETURN, libc::SECCOMP_RET_ALLOW),
        ];
        // The kernel wants what is loaded from memory to have been stored.
        filter.extend((0..16).map(|at| step(libc::BPF_ST, at)));
        filter.extend(steps);
        filter.extend([
            step(libc::BPF_ST, 0),
            step(LOAD, low(5)),
            step(libc::BPF_MISC | libc::BPF_TAX, 0),
            step(libc::BPF_LD | libc::BPF_MEM, 0),
            step(libc::BPF_ALU | libc::BPF_RSH | libc::BPF_X, 0),
            step(libc::BPF_ALU | libc::BPF_AND | libc::BPF_K, 0xfff),
            step(libc::BPF_ALU | libc::BPF_OR | libc::BPF_K, libc::SECCOMP_RET_ERRNO),
            step(libc::BPF_RET | libc::BPF_A, 0),
        ]);
        filter
    }

    /// With what a child ends whose filter the kernel has refused.
    const REFUSED: i32 = 2;

    /// Puts this process under a filter. Says whether the kernel takes it.
    fn confine(filter: &mut [sock_filter]) -> bool {
        let Ok(len) = u16::try_from(filter.len()) else { return false };
        let program = libc::sock_fprog { len, filter: filter.as_mut_ptr() };
        let (set, mode) = (libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER);
        rustix::thread::set_no_new_privs(true).is_ok()
            // SAFETY: the kernel reads `program`, and as many instructions as that says.
            && unsafe { libc::prctl(set, mode, &raw const program) } == 0
    }

    /// What the kernel answers to the calls of a process under a filter. `None` if it has ended the process for one.
    fn answers_of_kernel(filter: &mut [sock_filter], arguments: [u64; 5]) -> Option<Vec<u32>> {
        let (mut answers, mut to_test) = io::pipe().unwrap();
        // SAFETY: the child makes system calls alone, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let is_confined = confine(filter);
            for shift in SHIFTS.iter().filter(|_| is_confined) {
                let [a, b, c, d, e] = arguments;
                // SAFETY: the call takes no arguments; filters see what is passed.
                let result = unsafe { libc::syscall(CALL, a, b, c, d, e, *shift) };
                let errno = io::Error::last_os_error().raw_os_error().filter(|_| result != 0);
                let _ = to_test.write_all(&errno.unwrap_or(0).to_ne_bytes());
            }
            // SAFETY: nothing of the test's is left to do for a child.
            unsafe { libc::_exit(if is_confined { 0 } else { REFUSED }) };
        }
        drop(to_test);
        let mut bytes = Vec::new();
        answers.read_to_end(&mut bytes).unwrap();
        let mut status = 0;
        // SAFETY: the kernel writes to a word that lives through the call.
        assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
        assert_ne!(status, REFUSED << 8, "the kernel takes the filter: {filter:?}");
        let words = bytes.chunks_exact(4).map(|it| u32::from_ne_bytes(it.try_into().unwrap()));
        (status == 0).then(|| words.collect())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        #[test]
        fn filters_decide_as_in_the_kernel(
            steps in vec(any::<()>(), 0..24).prop_flat_map(|it| {
                let len = u8::try_from(it.len()).unwrap();
                (0..len).map(|at| any_step(len - at - 1)).collect::<Vec<_>>()
            }),
            arguments: [u64; 5],
        ) {
            let mut filter = filter_of(&steps);
            let [a, b, c, d, e] = arguments.map(Some);
            let (architecture, _) = ARCHITECTURES.unwrap();
            let answer = |&shift: &u64| {
                let arguments = [a, b, c, d, e, Some(shift)];
                let call = FilteredCall { architecture, number: number(CALL), arguments };
                let returned = returned(&filter, &call).expect("all is known");
                let is_answered = returned & libc::SECCOMP_RET_ACTION_FULL == libc::SECCOMP_RET_ERRNO;
                is_answered.then_some(returned & libc::SECCOMP_RET_DATA)
            };
            let ours: Option<Vec<u32>> = SHIFTS.iter().map(answer).collect();
            prop_assert_eq!(ours, answers_of_kernel(&mut filter, arguments));
        }
    }

    #[test]
    fn what_depends_on_unknown_arguments_is_not_known() {
        let call = |known: Option<u64>| FilteredCall {
            architecture: 1,
            number: 2,
            arguments: [None, known, None, None, None, None],
        };
        // All fail but those whose second argument has a 1 in the lower half.
        let filter = [
            step(LOAD, low(1)),
            instruction(JUMP_IF_EQUAL, 1, (0, 1)),
            step(RETURN, libc::SECCOMP_RET_ALLOW),
            step(RETURN, libc::SECCOMP_RET_KILL_PROCESS),
        ];
        assert_eq!(returned(&filter, &call(None)), None);
        assert_eq!(returned(&filter, &call(Some(1 | 1 << 32))), Some(libc::SECCOMP_RET_ALLOW));
        assert_eq!(returned(&filter, &call(Some(0))), Some(libc::SECCOMP_RET_KILL_PROCESS));
        // What is not looked at may be unknown, and where a call comes from is.
        let first_of_four = |word| [step(LOAD, word), step(RETURN, 7)];
        assert_eq!(returned(&first_of_four(low(0)), &call(None)), Some(7));
        let returns = |word| {
            returned(
                &[step(LOAD, word), step(libc::BPF_RET | libc::BPF_A, 0)],
                &call(Some(5 << 32)),
            )
        };
        assert_eq!([0, 4, 8, 12].map(returns), [Some(2), Some(1), None, None]);
        assert_eq!([low(1), low(1) + 4, low(2)].map(returns), [Some(0), Some(5), None]);
        assert_eq!(returned(&[], &call(None)), None, "no filter is without an end");
        assert_eq!(returned(&[step(libc::BPF_JMP | libc::BPF_JA, u32::MAX)], &call(None)), None);
    }
}
