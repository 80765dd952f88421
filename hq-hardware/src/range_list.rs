use std::collections::BTreeSet;

/// Numbers in a list of cpus or nodes, at most.
const COUNT_MAX: u32 = 65_536;

/// Reads numbers as the kernel writes them: `0-3,8`, maybe with blanks. Nothing at all is an empty list.
pub(crate) fn range_list(text: &str) -> Option<BTreeSet<u32>> {
    let mut numbers = BTreeSet::new();
    if text.trim().is_empty() {
        return Some(numbers);
    }
    for item in text.split(',') {
        let number = |text: &str| text.trim().parse::<u32>().ok();
        let (first, last) = match item.split_once('-') {
            Some((first, last)) => (number(first)?, number(last)?),
            None => (number(item)?, number(item)?),
        };
        if first > last || last - first >= COUNT_MAX {
            return None;
        }
        numbers.extend(first..=last);
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors() {
        for (text, expected) in [
            ("10", Some(&[10][..])),
            ("0-3\n", Some(&[0, 1, 2, 3])),
            ("2,7, 10", Some(&[2, 7, 10])),
            ("2-7,10-12,20", Some(&[2, 3, 4, 5, 6, 7, 10, 11, 12, 20])),
            ("\n", Some(&[])),
            ("xx", None),
            ("-", None),
            ("-2", None),
            ("0-1-2", None),
            (",,", None),
            ("3-2", None),
            ("0-4294967295", None),
        ] {
            let numbers = range_list(text).map(|numbers| numbers.into_iter().collect::<Vec<_>>());
            assert_eq!(numbers.as_deref(), expected, "{text:?}");
        }
    }
}
