/** The order of builds. A build is a number of steps here. */
import { expect } from 'chai';
import { BuildTurns, type TurnJob, type TurnRules } from '../../../../../shard/index/builds/buildTurns.js';
import { systemClock } from '../../../../../shared/clock.js';

/** Rules by which each step is a turn, and takes one millisecond. */
const RULES: TurnRules = { places: 4, longPlaces: 3, longPlacesOfProject: 2, trialMs: 10, turnMs: 1 };
const HUGE = 10_000;

interface Job extends TurnJob {
  readonly name: string;
  readonly steps: number;
  left: number;
  starts: number;
}

/** Runs builds step by step, like the lane. */
class Steps {
  readonly ran: string[] = [];
  readonly ended: string[] = [];
  readonly #turns: BuildTurns<Job>;
  readonly #jobs = new Map<string, Job>();
  hasRoom = true;
  mostBegun = 0;

  constructor(rules: Partial<TurnRules> = {}) {
    this.#turns = new BuildTurns<Job>({ ...RULES, ...rules }, systemClock, () => this.hasRoom);
  }

  get counts(): BuildTurns<Job>['counts'] {
    return this.#turns.counts;
  }

  /** `name` is the letter of the project and the number of the collection. */
  add(name: string, steps: number, urgent = false): void {
    const collectionId = this.#jobs.size + 1;
    const job: Job = { name, project: name[0]!, collectionId, urgent, steps, left: steps, starts: 1 };
    this.#jobs.set(name, job);
    this.#turns.add(job);
  }

  job(name: string): Job {
    return this.#jobs.get(name)!;
  }

  remove(name: string): void {
    this.#turns.remove(this.job(name));
  }

  /** Runs at most `count` steps, and stops when the build `until` has ended. Returns one name for each step. */
  run(count: number, until?: string): string[] {
    const from = this.ran.length;
    for (let i = 0; i < count && (until === undefined || !this.ended.includes(until)); i++) {
      const job = this.#turns.next();
      if (job === undefined) break;
      this.mostBegun = Math.max(this.mostBegun, this.#turns.counts.begun);
      expect(this.#turns.leftMs(job)).to.equal(1);
      this.ran.push(job.name);
      job.left--;
      this.#stepped(job, this.#turns.spend(job, 1));
    }
    return this.ran.slice(from);
  }

  #stepped(job: Job, mayGoOn: boolean): void {
    if (job.left === 0) {
      this.ended.push(job.name);
      this.#turns.remove(job);
    } else if (!mayGoOn) {
      this.#turns.again(job);
      job.left = job.steps;
      job.starts++;
    }
  }
}

const countOf = (names: readonly string[], wanted: string): number => names.filter((name) => name[0] === wanted).length;

describe('the turns of builds', () => {
  it('finish a small build after as many steps of three huge builds of another project', () => {
    const steps = new Steps();
    for (const name of ['a1', 'a2', 'a3']) steps.add(name, HUGE);
    steps.run(100);
    steps.add('b1', 7);
    const ran = steps.run(HUGE, 'b1');
    expect(steps.ended).to.deep.equal(['b1']);
    expect(countOf(ran, 'a')).to.be.at.most(8);
  });

  it('are equal between a project of many collections and one of few', () => {
    const steps = new Steps();
    for (let i = 0; i < 3; i++) steps.add(`a${i}`, HUGE);
    steps.add('b1', HUGE);
    const ran = steps.run(400);
    expect(countOf(ran, 'a')).to.be.within(195, 205);
  });

  it('alternate between two collections of one project', () => {
    const steps = new Steps();
    steps.add('a1', HUGE);
    steps.run(10);
    steps.add('a2', HUGE);
    const ran = steps.run(20);
    expect(ran.join(' ').match(/a1 a2|a2 a1/g)).to.have.length(10);
  });

  it('give a project with many tiny builds as much time as one with a huge build', () => {
    const steps = new Steps();
    steps.add('a1', HUGE);
    for (let i = 0; i < 200; i++) steps.add(`b${i}`, 2);
    expect(countOf(steps.run(200), 'b')).to.be.within(98, 102);
  });

  it('start requested builds before maintenance', () => {
    const steps = new Steps({ places: 1, longPlaces: 0 });
    steps.add('a1', 5);
    steps.run(1);
    for (const name of ['b1', 'c1', 'd1']) steps.add(name, 5);
    steps.add('e1', 5, true);
    steps.add('d2', 5, true);
    steps.run(100);
    expect(steps.ended).to.deep.equal(['a1', 'e1', 'd2', 'b1', 'c1', 'd1']);
  });

  it('start a build of maintenance at every fourth place, however many are requested', () => {
    const steps = new Steps({ places: 1, longPlaces: 0 });
    for (let i = 0; i < 6; i++) steps.add(`r${i}`, 1, true);
    steps.add('m1', 1);
    steps.run(100);
    expect(steps.ended).to.deep.equal(['r0', 'r1', 'r2', 'm1', 'r3', 'r4', 'r5']);
  });

  it('give a free place to the project that has waited longest', () => {
    const steps = new Steps({ places: 1, longPlaces: 0 });
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1', 'b2']) steps.add(name, 2);
    steps.run(100);
    expect(steps.ended).to.deep.equal(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
  });

  it('let no more builds begin than there are places', () => {
    const steps = new Steps();
    for (const project of 'abcdefgh') for (let i = 0; i < 4; i++) steps.add(`${project}${i}`, 30);
    const ran = steps.run(HUGE);
    expect(steps.mostBegun).to.equal(RULES.places);
    expect(steps.ended).to.have.length(32);
    expect(ran.length).to.be.at.most(32 * (30 + RULES.trialMs));
  });

  it('let one build at a time begin while memory is nearly full', () => {
    const steps = new Steps();
    steps.hasRoom = false;
    for (const project of 'abc') steps.add(`${project}1`, 20);
    steps.run(HUGE);
    expect(steps.mostBegun).to.equal(1);
    expect(steps.ended).to.deep.equal(['a1', 'b1', 'c1']);
  });

  it('finish a small build within a bounded number of steps behind huge ones of four projects', () => {
    const steps = new Steps();
    for (const project of 'abcd') for (let i = 0; i < 5; i++) steps.add(`${project}${i}`, HUGE);
    steps.run(500);
    expect(steps.counts).to.deep.equal({ begun: 4, waiting: 16 });
    steps.add('z1', 7);
    // Each of four projects may get a place first, on trial for 10 steps beside three long builds.
    const ran = steps.run(HUGE, 'z1');
    expect(steps.ended).to.deep.equal(['z1']);
    expect(ran.length).to.be.at.most(5 * 6 * RULES.trialMs);
  });

  it('discard the work of a long build at most once', () => {
    const steps = new Steps();
    for (const project of 'abcdef') steps.add(`${project}1`, 100);
    steps.run(HUGE);
    expect(steps.ended).to.have.length(6);
    const starts = [...'abcdef'].map((project) => steps.job(`${project}1`).starts);
    expect(starts).to.deep.equal([1, 1, 1, 2, 2, 2]);
  });

  it('give no turn to a build that must end, and keep its place until it has ended', () => {
    const turns = new BuildTurns<TurnJob>({ ...RULES, places: 1, longPlaces: 1 }, systemClock);
    const [one, other] = [1, 2].map((collectionId) => ({ project: 'a', collectionId, urgent: false }));
    turns.add(one!);
    turns.add(other!);
    expect(turns.next()).to.equal(one);
    turns.ending(one!);
    expect(turns.next()).to.equal(undefined);
    turns.remove(one!);
    expect(turns.next()).to.equal(other);
  });

  it('drop a waiting build that is no longer wanted', () => {
    const steps = new Steps({ places: 1, longPlaces: 0 });
    for (const name of ['a1', 'b1', 'b2', 'c1']) steps.add(name, 3);
    steps.run(1);
    steps.remove('b1');
    steps.remove('c1');
    steps.run(100);
    expect(steps.ended).to.deep.equal(['a1', 'b2']);
    expect(steps.counts).to.deep.equal({ begun: 0, waiting: 0 });
  });
});
