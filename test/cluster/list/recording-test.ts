// Stands where node:test is, for registered-tests.ts: keeps what is registered, and runs suites to find what is in them.

export interface Registered {
  readonly kind: 'suite' | 'test';
  /** Of a suite in another with that one's before it. */
  readonly name: string;
  /** The calls that led there: the same for what one loop registers. */
  readonly from: string;
}

const registered: Registered[] = [];

/** What was registered since the last call, in order. */
export function takeRegistered(): Registered[] {
  return registered.splice(0);
}

type Body = (() => unknown) | undefined;

function keep(kind: Registered['kind'], name: string): void {
  const from = (new Error('here').stack ?? '').split('\n').slice(3).join('\n');
  registered.push({ kind, name, from });
}

const outer: string[] = [];

export function describe(name: string, ...more: unknown[]): void {
  outer.push(name);
  keep('suite', outer.join(', '));
  (more.findLast((each) => typeof each === 'function') as Body)?.();
  outer.pop();
}

export function test(name: string): void {
  keep('test', name);
}

const nothing = (): void => {};

export { nothing as after, nothing as afterEach, nothing as before, nothing as beforeEach };
