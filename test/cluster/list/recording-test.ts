// Replaces node:test for registered-tests.ts: records what is registered, and runs suites to find their
// tests.

export interface Registered {
  readonly kind: 'suite' | 'test';
  /** The name, prefixed with those of the enclosing suites. */
  readonly name: string;
  /** The call stack of the registration. It is the same for all tests that one loop registers. */
  readonly from: string;
}

const registered: Registered[] = [];

/** Returns the registrations since the last call, in order. */
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
