//! Who keeps how many tokens, and that nothing emitted is over its allotment.

use abide_organize::budget::{CUT_MARK, allot, cut, tokens};

fn check(lengths: &[usize], target: usize, kept: &[f64], spared: bool, protected: usize) {
    let allotment = allot(lengths, target);
    for (got, want) in allotment.kept.iter().zip(kept) {
        assert!((got - want).abs() < 0.01, "{lengths:?} into {target}: {:?}", allotment.kept);
    }
    assert_eq!(allotment.truncation.protection_mode_used, spared, "{lengths:?}");
    assert_eq!(allotment.truncation.protected_files, protected, "{lengths:?}");
}

#[test]
fn the_deficit_is_shared_by_length_and_short_contents_are_spared() {
    check(&[1_000, 1_000, 10_000, 300_000], 100_000, &[1_000.0, 1_000.0, 10_000.0, 88_000.0], true, 3);
    check(&[1_000, 1_000, 100_000, 200_000], 100_000, &[1_000.0, 1_000.0, 32_666.67, 65_333.33], true, 2);
    check(&[1_000; 300], 100_000, &[333.33; 300], true, 0);
    check(&[149, 251], 100, &[37.25, 62.75], false, 0);
    check(&[5, 7], 0, &[0.0, 0.0], false, 0);
    check(&[10_000], 5_000, &[5_000.0], true, 0);
    check(&[10, 20], 30, &[10.0, 20.0], false, 0);
    check(&[], 10, &[], false, 0);
}

#[test]
fn a_cut_text_is_within_its_allotment() {
    let texts = ["", "a", "häßlich 😀😀😀 und lang genug, um geschnitten zu werden", &"wort ".repeat(400)];
    for text in texts {
        for kept in [0.0, 0.5, 1.0, 5.9, 6.0, 6.4, 7.0, 20.0, 33.3, 500.0, 1_000.0] {
            let cut = cut(text, kept);
            assert!(tokens(&cut) <= kept as usize, "{kept}: {cut:?}");
            let whole = tokens(text) <= kept as usize;
            assert!(whole == (cut == text) || text.is_empty(), "{kept}: {cut:?}");
            assert!(whole || cut.is_empty() || cut.ends_with(CUT_MARK), "{kept}: {cut:?}");
        }
    }
}

#[test]
fn allotments_come_to_the_target_exactly() {
    let mut state = 7_u64;
    for _ in 0..2_000 {
        let mut next = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((state >> 33) % bound) as usize
        };
        let lengths: Vec<usize> = (0..=next(40)).map(|_| 1 + next(5_000)).collect();
        let target = next(60_000);
        let sum: f64 = allot(&lengths, target).kept.iter().sum();
        let want = lengths.iter().sum::<usize>().min(target) as f64;
        assert!((sum - want).abs() < 1e-6 * want.max(1.0), "{lengths:?} into {target}: {sum}");
    }
}
