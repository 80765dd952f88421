use std::collections::BTreeSet;

use super::reader::{Reader, Result};
use crate::resource::{
    CouplingItem, ResourceDef,
    coupling::{CouplingEnd, CouplingError, ITEMS_MAX},
};

impl CouplingItem {
    /// What closeness is worth where nothing is said.
    pub const WEIGHT: u16 = 256;

    /// Reads `RES1[G1]:RES2[G2]` or `RES1[G1]:RES2[G2]=WEIGHT`, joined by commas; groups count from 0.
    ///
    /// The answer refers to resources by their position in `resources`; each item has the smaller one first, and the items
    /// are sorted. For a worker, use [`WorkerResources::with_coupling`](crate::WorkerResources::with_coupling).
    ///
    /// # Errors
    /// Says what is wrong and where: bad syntax, unknown resources, resources of a single group, groups that do not exist, a
    /// resource coupled with itself, an item given twice.
    ///
    /// # Examples
    /// ```
    /// use hq_core::{CouplingItem, ResourceDef};
    /// let resources = ["cpus=2x8", "gpus=[[0,1],[2,3]]"].map(|text| ResourceDef::parse(text).unwrap());
    /// let items = CouplingItem::parse_list("gpus[0]:cpus[0], gpus[1]:cpus[1]=64", &resources).unwrap();
    /// assert_eq!((items[0].resource1_idx, items[0].resource2_idx, items[0].weight), (0, 1, 256));
    /// let error = CouplingItem::parse_list("cpus[0]:gpus[2]", &resources).unwrap_err();
    /// assert_eq!((error.at, &error.reason[..]), (13, "Invalid group id 2 for resource 'gpus', which has the groups 0 to 1"));
    /// ```
    pub fn parse_list(text: &str, resources: &[ResourceDef]) -> Result<Vec<Self>> {
        let mut reader = Reader::new(text);
        let mut items: Vec<Self> = vec![];
        let mut known = BTreeSet::new();
        loop {
            let start = reader.here();
            let item = item(&mut reader, resources)?;
            if !known.insert(item.ends()) {
                return reader.error_at(start, CouplingError::twice(resources, &item).to_string());
            }
            if items.len() == ITEMS_MAX {
                return reader.error_at(start, CouplingError::TooMany.to_string());
            }
            items.push(item);
            if !reader.accept(",") {
                break;
            }
        }
        reader.end()?;
        items.sort();
        Ok(items)
    }
}

fn item(reader: &mut Reader<'_>, resources: &[ResourceDef]) -> Result<CouplingItem> {
    let first = end(reader, resources)?;
    reader.expect(":")?;
    let start = reader.here();
    let second = end(reader, resources)?;
    if first.resource == second.resource {
        return reader.error_at(start, CouplingError::itself(resources, first).to_string());
    }
    let weight = if reader.accept("=") { number(reader)? } else { CouplingItem::WEIGHT };
    Ok(CouplingItem::new(first, second, weight))
}

/// `RES[G]`
fn end(reader: &mut Reader<'_>, resources: &[ResourceDef]) -> Result<CouplingEnd> {
    let start = reader.here();
    let name = reader.name()?;
    let position = resources.iter().position(|def| def.name == name);
    let Some(resource) = position.and_then(|at| u16::try_from(at).ok()) else {
        let known: Vec<&str> = resources.iter().map(|def| def.name.as_str()).collect();
        return reader.error_at(start, format!("Resource not found: {name}; there are {}", known.join(", ")));
    };
    let any = CouplingEnd { resource, group: 0 };
    any.check(resources).or_else(|error| reader.error_at(start, error.to_string()))?;
    reader.expect("[")?;
    let start = reader.here();
    let end = CouplingEnd { group: number(reader)?, ..any };
    end.check(resources).or_else(|error| reader.error_at(start, error.to_string()))?;
    reader.expect("]")?;
    Ok(end)
}

fn number(reader: &mut Reader<'_>) -> Result<u16> {
    Ok(reader.number(u16::MAX.into())? as u16)
}
