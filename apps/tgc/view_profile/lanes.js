/** @typedef {import("./track.js").Track} Track */

/** A group of rows: one track of one trace. `trace`: index in the run's traces, -1: the host; `starts`: open at first.
 * @typedef {{number: number, title: string, trace: number, track: Track, isOpen: boolean, starts: boolean}} Group */
/** A line of the timeline. `row`: the row of the track; -1: only a heading.
 * @typedef {{y: number, height: number, group: Group, row: number, isHead: boolean, name: string}} Lane */

const kHeadHeight = 20, kRow = 17, kPlaceHeight = 4, kLeastPlacesHeight = 12, kMostPlacesHeight = 40;

/** @param {Group[]} groups @returns {{lanes: Lane[], height: number}} */
export function lanesOf(groups) {
  const lanes = [];
  let y = 0;
  const add = (lane) => { lanes.push({y, ...lane}), y += lane.height; };
  for (const group of groups) {
    const {rows} = group.track, hasCount = rows.length > 0 && rows[0].style === "count";
    add({height: kHeadHeight, group, row: hasCount ? 0 : -1, isHead: true, name: group.title});
    if (!group.isOpen) continue;
    rows.forEach(({name, style, most}, row) => {
      if (hasCount && !row) return;
      const height = style === "place" ? Math.min(kMostPlacesHeight, Math.max(kLeastPlacesHeight, most * kPlaceHeight))
        : kRow;
      add({height, group, row, isHead: false, name});
    });
    y += 4;
  }
  return {lanes, height: y};
}
