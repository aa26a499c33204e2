// @ts-check

/**
 * What a player moves: a step from 0 to `last`.
 * @typedef {object} Played
 * @property {() => number} at the present step
 * @property {() => number} last
 * @property {(step: number) => void} show goes to a step
 * @property {() => void} redraw after play or pause
 * @property {() => number} pace ms per step
 * @property {() => void} [end] what follows after the last step
 */

/** Goes on step by step until it is stopped or at the end. */
export class Player {
  /** @param {Played} played */
  constructor(played) {
    this.played = played;
    /** @type {number | undefined} */
    this.timer = undefined;
  }

  get plays() {
    return this.timer !== undefined;
  }

  toggle() {
    if (this.plays) this.stop();
    else this.start();
  }

  start() {
    const { at, last, show, pace } = this.played;
    if (at() >= last()) show(0);
    this.timer = setInterval(() => this.step(), pace());
    this.step();
  }

  step() {
    const { at, last, show, end } = this.played;
    if (at() < last()) return show(at() + 1);
    this.stop();
    end?.();
  }

  stop() {
    this.close();
    this.played.redraw();
  }

  /**
   * Stop at a step.
   * @param {number} step
   */
  go(step) {
    this.stop();
    this.played.show(step);
  }

  /** Stop for good: nothing is drawn again. */
  close() {
    clearInterval(this.timer);
    this.timer = undefined;
  }
}
