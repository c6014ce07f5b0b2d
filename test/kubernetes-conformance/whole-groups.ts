import { quote } from './suite.ts';

/** Groups of the suite of which every test is promised, but for those that are left out by name. */
export const wholeGroups = [
  'Watchers',
  'Servers with support for API chunking',
  'Servers with support for Table transformation',
  'FieldValidation',
  'Garbage collector',
].map((group) => `[sig-api-machinery] ${group} `);

/** Why is said in docs/kubernetes-conformance.md. */
export const leftOut = [
  '[sig-api-machinery] Garbage collector should delete jobs and pods created by cronjob',
];

/** For `Suite.list`: the tests of these groups. */
export const focusOfGroups = wholeGroups.map(quote).join('|');

/** Where the promises are not all that these groups have, one sentence each; `names`: what the suite has. Pure. */
export function gapsIn(names: readonly string[], promised: readonly string[]): string[] {
  const known = new Set([...promised, ...leftOut]);
  return [
    ...wholeGroups
      .filter((group) => !names.some((name) => name.startsWith(group)))
      .map((group) => `the suite has no group "${group.trim()}" any more`),
    ...names
      .filter((name) => wholeGroups.some((group) => name.startsWith(group)) && !known.has(name))
      .map((name) => `neither promised nor left out: ${name}`),
    ...leftOut.filter((name) => !names.includes(name)).map((name) => `left out, and not there: ${name}`),
  ];
}
