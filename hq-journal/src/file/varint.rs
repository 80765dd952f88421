//! Whole numbers in as few bytes as they need (LEB128).

pub(super) fn push(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// Takes a number off the front; `None` where there is no whole one.
pub(super) fn pop(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if (bits << shift) >> shift != bits {
            return None;
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// Small where `value` is near zero, on either side.
pub(super) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

pub(super) const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -(value & 1).cast_signed()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_come_back(value in prop_oneof![any::<u64>(), 0u64..1000], rest in prop::collection::vec(any::<u8>(), 0..4)) {
            let mut bytes = vec![];
            push(&mut bytes, value);
            bytes.extend(&rest);
            let mut left = &bytes[..];
            prop_assert_eq!(pop(&mut left), Some(value));
            prop_assert_eq!(left, &rest[..]);
            prop_assert_eq!(zigzag(unzigzag(value)), value);
        }
    }

    #[test]
    fn what_is_too_long_or_cut_is_no_number() {
        for bytes in
            [&[][..], &[0x80], &[0xff; 10], &[0xff; 9], &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2]]
        {
            assert_eq!(pop(&mut &bytes[..]), None, "{bytes:?}");
        }
    }
}
