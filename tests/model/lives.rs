//! Random lives: calls of every kind, and between them files written anew, in which everything goes on.

use super::common::texts::Draw;
use super::life::Anew;
use super::pair::{Leave, Pair};
use super::random::{Source, step};
use sketchdb::{ClusterRule, Kept, Params, Policy, RepresentativeRule};

const ANEW: [Anew; 3] = [Anew::Onto, Anew::ReadOnly, Anew::File];

/// Other parameters for the same sketches; now and then some of those are given up.
fn changed(draw: &mut Draw, params: &Params) -> Params {
    let own = params.keep_sketches;
    let wanted: Kept =
        draw.one_of(&["sample,signature,simhash", "sample,signature", "signature,simhash"]).parse().unwrap();
    let kept = match draw.percent(20) {
        false => own,
        true => Kept {
            sample: own.sample && wanted.sample,
            signature: own.signature && wanted.signature,
            simhash: own.simhash && wanted.simhash,
            edit: own.edit && wanted.edit,
        },
    };
    let (hamming, hamming_tables) = *draw.one_of(&[(3, 4), (3, 10), (7, 8)]);
    Params {
        threshold: *draw.one_of(&[0.5, 0.7, 0.8, 0.9]),
        recall: *draw.one_of(&[0.9, 0.99]),
        hamming,
        hamming_tables,
        containment: draw.percent(60),
        clusters: *draw.one_of(&[ClusterRule::Components, ClusterRule::Greedy]),
        representative: match draw.percent(50) && kept.sample {
            true => RepresentativeRule::Popular,
            false => RepresentativeRule::First,
        },
        keep_sketches: kept,
        ..params.clone()
    }
}

/// A small database whose documents and keys are partly those of the first.
fn second(pair: &Pair, source: &mut Source) -> Pair {
    let mut second = Pair::new(&pair.oracle.params);
    let documents = source.documents(pair, 60);
    second.add(documents, Policy::Everything);
    let keys: Vec<String> = second.oracle.keys().into_iter().step_by(9).collect();
    second.remove(&keys);
    second
}

/// How often each turn in a life was taken, and how many pairs were listed.
fn live(seed: u64, rounds: usize, params: &Params) -> ([usize; 5], usize) {
    let (mut pair, mut source) = (Pair::new(params), Source::new(seed));
    let documents = source.documents(&pair, 120);
    pair.add(documents, Policy::Everything);
    let (mut turns, mut listed) = ([0; 5], 0);
    for _ in 0..rounds {
        for _ in 0..25 {
            let params = pair.oracle.params.clone();
            step(&mut pair, &mut source, &params);
        }
        if let Some(options) = pair.pair_options(&mut source.draw) {
            listed += pair.pairs(&options).0;
        }
        let (turn, anew) = (source.draw.below(5), *source.draw.one_of(&ANEW));
        turns[turn] += 1;
        match turn {
            0 => pair.compact(anew),
            1 => {
                let params = changed(&mut source.draw, &pair.oracle.params);
                pair.rebuild(anew, &params);
            }
            2 => {
                let second = second(&pair, &mut source);
                pair.merge(&second);
            }
            3 => pair.export_and_import(anew),
            _ => {
                let mut second = second(&pair, &mut source);
                pair.import(&mut second);
            }
        }
        pair.verify();
    }
    pair.reopen(Leave::Kill);
    pair.get_every();
    pair.counts();
    pair.clusters(0);
    (turns, listed)
}

fn lives(seeds: std::ops::Range<u64>, params: &Params) {
    let (mut taken, mut listed) = ([0; 5], 0);
    for seed in seeds {
        let (turns, pairs) = live(seed, 12, params);
        taken.iter_mut().zip(turns).for_each(|(all, some)| *all += some);
        listed += pairs;
    }
    assert!(taken.iter().all(|&turn| turn > 1), "turns were taken {taken:?} times");
    assert!(listed > 500, "{listed} pairs prove little");
}

#[test]
fn lives_of_databases_with_components() {
    lives(71..76, &Params::default());
}

#[test]
fn lives_of_databases_with_greedy_clusters() {
    lives(81..84, &Params { clusters: ClusterRule::Greedy, ..Params::default() });
    let representative = RepresentativeRule::Popular;
    lives(91..94, &Params { clusters: ClusterRule::Greedy, representative, ..Params::default() });
}
