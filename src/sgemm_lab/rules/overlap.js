// How windows of K flow through one SM: pipeline.py in JavaScript, held equal to it by a test.
// A fragment: see module() in base.py.

const [STEADY, SLACK] = [60, 1e-6];

/** What happens to every window of {latency, load, compute, windows, stages, blocks}, in clocks. */
function schedule({ latency, load, compute, windows, stages, blocks }) {
  const waiting = Array.from({ length: blocks }, () => []);
  const done = new Array(blocks).fill(0);
  const busy = new Map(); // block → what is left of its window, and the pieces made so far
  const finished = [];
  let [now, pipeFree] = [0, 0];
  while (finished.length < windows * blocks) {
    for (let block = 0; block < blocks; block++) {
      const line = waiting[block];
      while (done[block] + line.length < Math.min(windows, done[block] + stages)) {
        const comes = Math.max(now + latency, pipeFree);
        pipeFree = comes + load;
        line.push({ asked: now, comes, there: pipeFree });
      }
      if (!busy.has(block) && line.length && line[0].there <= now) busy.set(block, { left: compute, pieces: [] });
    }
    const arrivals = waiting.flatMap((line, block) => (line.length && !busy.has(block) ? [line[0].there] : []));
    const ends = [...busy.values()].map(({ left }) => now + left * busy.size);
    const then = Math.min(...arrivals, ...ends);
    const share = 1 / Math.max(1, busy.size);
    for (const [block, work] of [...busy]) {
      const last = work.pieces.at(-1);
      if (then > now && last?.share === share) last.end = then;
      else if (then > now) work.pieces.push({ start: now, end: then, share });
      work.left -= (then - now) * share;
      if (work.left > SLACK) continue;
      const number = done[block]++;
      finished.push({ block, number, buffer: number % stages, ...waiting[block].shift(), pieces: work.pieces, done: then });
      busy.delete(block);
    }
    now = then;
  }
  return finished;
}

/** What a pipeline reaches; see Report in pipeline.py. */
function pipelineReport(pipeline, most = 6) {
  const totalOf = (stages) => schedule({ ...pipeline, stages }).at(-1).done;
  const [total, serial] = [totalOf(pipeline.stages), totalOf(1)];
  const tries = Array.from({ length: most }, (_, i) => i + 1);
  const enough = tries.find((stages) => paceOf({ ...pipeline, stages }).bound !== "latency");
  return {
    total, serial, ...paceOf(pipeline), enough: enough ?? null,
    share: total ? (pipeline.blocks * pipeline.windows * pipeline.compute) / total : 0,
    speedup: total ? serial / total : 1,
    barriers: pipeline.stages === 1 ? 2 : 1,
  };
}

/** The steady clocks per window of a block, and what sets them. */
function paceOf(pipeline) {
  const ends = schedule({ ...pipeline, windows: 2 * STEADY }).filter(({ block }) => block === 0);
  const pace = (ends.at(-1).done - ends[STEADY - 1].done) / STEADY;
  const bound = ["compute", "load"].find((name) => pace <= pipeline.blocks * pipeline[name] + SLACK);
  return { pace, bound: bound ?? "latency" };
}
