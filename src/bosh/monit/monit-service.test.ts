import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { dependencyGroups, sortByDependencies, isBegunBy, type MonitService } from './monit-service.ts';
import { parseMonit } from './parse-monit.ts';

/** Returns services from their dependencies: `{ web: 'db, cache' }`. */
function services(dependencies: Readonly<Record<string, string>>, job = 'job'): readonly MonitService[] {
  const text = Object.entries(dependencies).map(
    ([name, on]) => `check file ${name} path /${name} group vcap ${on === '' ? '' : `depends on ${on}`}`,
  );
  return parseMonit(text.join('\n'), job);
}

const names = (list: readonly MonitService[]): string => list.map(({ name }) => name).join(' ');

test('a service starts after all its dependencies, in any job', () => {
  const all = [
    ...services({ web: 'db, cache', alone: '', check: 'web' }, 'one'),
    ...services({ cache: 'db', db: '', other: 'alone' }, 'two'),
  ];
  assert.equal(names(sortByDependencies(all)), 'db cache web alone check other');
  assert.deepEqual(dependencyGroups(sortByDependencies(all)).map(names), [
    'db cache web check',
    'alone other',
  ]);
});

test('the services of a job with one start program start in sequence', () => {
  const check = (name: string, start: string): string =>
    `check process ${name} pidfile /${name} ${start === '' ? '' : `start program "${start}" timeout ${name.length} seconds`} group vcap`;
  const [one, three, other, none] = ['/ctl start', '/ctl start', '/ctl other', ''].map((start, index) =>
    check(['a', 'bbb', 'c', 'd'][index] ?? '', start),
  );
  const all = [
    ...parseMonit([one, three, other, none].join('\n'), 'one'),
    ...parseMonit(check('elsewhere', '/ctl start'), 'two'),
  ];
  assert.deepEqual(dependencyGroups(sortByDependencies(all)).map(names), ['a bbb', 'c', 'd', 'elsewhere']);
  const begins = all.map((service) => names(all.filter((by) => isBegunBy(service, by))));
  assert.deepEqual(begins, ['bbb', 'a', '', 'a bbb c', '']);
});

for (const [what, list, message] of [
  [
    'a dependency on itself',
    services({ a: 'a' }),
    /^job 'job': monit line 1, column 1: .*circular: 'a' on 'a'/,
  ],
  [
    'a circular dependency',
    services({ x: 'a', a: 'b', b: 'c', c: 'a' }),
    /line 2.*circular: 'a' on 'b' on 'c' on 'a'/,
  ],
  ['an unknown service', services({ a: 'z' }), /'a' depends on 'z', which no job of this VM declares/],
  [
    'a duplicate service',
    services({ a: '' }).concat(services({ a: '' }, 'two')),
    /job 'two'.*also declared by job 'job'/,
  ],
  [
    'a duplicate in one file',
    parseMonit('check file a path /a group vcap\n'.repeat(2), 'job'),
    /lines 1 and 2/,
  ],
] as const) {
  test(`${what} is refused`, () => {
    assert.throws(
      () => sortByDependencies(list),
      (error) => isProductError(error, 'AGENT_MONIT_INVALID') && message.test(error.message),
    );
  });
}
