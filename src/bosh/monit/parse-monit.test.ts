import assert from 'node:assert/strict';
import * as fc from 'fast-check';
import { test } from 'node:test';
import { isProductError } from '../../errors/product-error.ts';
import { parseMonit } from './parse-monit.ts';
import type { MonitAction, MonitProgram, MonitRule, MonitService, MonitTest } from './monit-service.ts';
import { splitArguments } from './program-clause.ts';
import { printMonit } from './testing/print-monit.ts';

const stanza = (extra = ''): string => `check process web
  with pidfile /var/vcap/sys/run/web/web.pid
  start program "/var/vcap/jobs/web/bin/ctl start" with timeout 60 seconds
  stop program "/var/vcap/jobs/web/bin/ctl stop"
  ${extra}
  group vcap
`;

test('reads the stanza that every BOSH job has', () => {
  assert.deepEqual(parseMonit(stanza(), 'web'), [
    {
      job: 'web',
      name: 'web',
      line: 1,
      subject: { kind: 'pidfile', path: '/var/vcap/sys/run/web/web.pid' },
      start: {
        arguments: ['/var/vcap/jobs/web/bin/ctl', 'start'],
        timeoutSeconds: 60,
        user: undefined,
        group: undefined,
      },
      stop: {
        arguments: ['/var/vcap/jobs/web/bin/ctl', 'stop'],
        timeoutSeconds: 30,
        user: undefined,
        group: undefined,
      },
      groups: ['vcap'],
      dependsOn: [],
      mode: 'active',
      every: 1,
      rules: [],
      restartLimits: [],
    },
  ]);
});

test('reads users, comments, any case, equal signs and several stanzas', () => {
  const text = `# a comment with a "quote
CHECK PROCESS one WITH PIDFILE "/run/one.pid"
  START PROGRAM = "/bin/one" AS UID vcap AND GID 1000 # why
  GROUP vcap
check process two pidfile /run/two.pid
  start "/bin/two" with timeout 5 seconds as uid "vcap"
  mode active
  group other group vcap`;
  const [one, two] = parseMonit(text, 'jobs');
  assert.deepEqual(one?.start, { arguments: ['/bin/one'], timeoutSeconds: 30, user: 'vcap', group: '1000' });
  assert.equal(one?.stop, undefined);
  assert.deepEqual(two?.start, {
    arguments: ['/bin/two'],
    timeoutSeconds: 5,
    user: 'vcap',
    group: undefined,
  });
});

test('an empty file declares no service', () => {
  assert.deepEqual(parseMonit('\n# nothing to watch\n', 'web'), []);
});

test('reads the rules of published releases', () => {
  const [service] = parseMonit(
    stanza(`if failed
     host 127.0.0.1
     port 8080
     protocol HTTP
     and request "/health" with timeout 10 seconds for 6 cycles
     then restart
  if totalmem > 1.5 Gb for 3 cycles then alert else if recovered then exec "/bin/told 'it is over'" as uid vcap
  if loadavg ( 5 min ) >= 2 then alert
  if loadavg ( 5 min ) gt 2.25 3 times within 5 cycles then stop
  if 1 restarts within 2 cycles then timeout
  depends on db, on
  every 2 cycles`).replace('  if loadavg ( 5 min ) >= 2 then alert\n', ''),
    'web',
  );
  const once = { count: 1, cycles: 1 };
  const program = {
    arguments: ['/bin/told', 'it is over'],
    timeoutSeconds: 30,
    user: 'vcap',
    group: undefined,
  };
  assert.deepEqual(service?.rules, [
    {
      test: {
        kind: 'connection',
        target: { host: '127.0.0.1', port: 8080 },
        request: '/health',
        timeoutSeconds: 10,
      },
      rate: { count: 6, cycles: 6 },
      action: { kind: 'restart' },
      recovery: undefined,
    },
    {
      test: { kind: 'resource', resource: 'totalmem', operator: '>', limit: 1_572_864, unit: 'kB' },
      rate: { count: 3, cycles: 3 },
      action: { kind: 'alert' },
      recovery: { rate: once, action: { kind: 'exec', program } },
    },
    {
      test: { kind: 'resource', resource: 'loadavg(5min)', operator: '>', limit: 2.2, unit: '' },
      rate: { count: 3, cycles: 5 },
      action: { kind: 'stop' },
      recovery: undefined,
    },
  ]);
  assert.deepEqual(service.restartLimits, [{ restarts: 1, cycles: 2, action: { kind: 'unmonitor' } }]);
  assert.deepEqual([service.dependsOn, service.every], [['db', 'on'], 2]);
});

test('accepts clauses about mail and about monit itself without effect', () => {
  const text = `set mail-format { from: monit@x  message: don't "reply }
set alert a@b only on { timeout } with mail-format { subject: it's down } with reminder on 5 cycles
set httpd port 2822 and use address 127.0.0.1 allow user:password
${stanza('alert a@b but not on { instance } noalert c@d')}`;
  assert.deepEqual(
    parseMonit(text, 'web'),
    parseMonit(stanza(), 'web').map((service) => ({ ...service, line: 4 })),
  );
});

const invalid: readonly (readonly [string, RegExp])[] = [
  ['check process web with pidfile /x start program "/bin/x\n', /line 1, column 49: .*no closing "/],
  ['check process web with pidfile x start program "/bin/x" group vcap', /must be an absolute path/],
  [
    'check process web with pidfile /x group vcap',
    /line 1, .*'web' has no start program, and no other check/,
  ],
  ['check process web with pidfile /x start program "/bin/x"', /group vcap/],
  ['check process web with pidfile /x start program /bin/x group vcap', /double-quoted/],
  ['check process web with pidfile /x start program "bin/x" group vcap', /must be absolute/],
  [
    'check process web with pidfile /x start program "/b" with timeout soon group vcap',
    /must be a number of seconds/,
  ],
  ['check process', /missing the name/],
  ['check process web matching\n', /missing the pattern/],
  ['check process web group vcap', /neither a pidfile nor a pattern/],
  ['check process /web pidfile /x', /begins with '\/'/],
  ['set nothing 3', /unknown setting/],
  [stanza('every 1 cycles'), /whole number from 2 on/],
  [stanza('mode lazy'), /neither active, passive nor manual/],
  [stanza('if totalmem > 10 % for 65 cycles then alert'), /from 1 to 64/],
  [stanza('if totalmem > 10 % 3 times within 2 cycles then alert'), /3 times do not fit/],
  [stanza('if totalmem > much then alert'), /line 5, column 17: the limit of totalmem must be a number/],
  [stanza('if cpu > 10 then alert'), /in percent/],
  [stanza('if totalmem > 3 Mb then sleep'), /an action is missing/],
  [stanza('if totalmem > 3 Mb alert'), /'then' is expected, but found 'alert'/],
  [stanza('if failed port 70000 then alert'), /from 1 to 65535/],
  [stanza('if failed port 80 protocol http request "/a\nX: y" then alert'), /must be a path of printable/],
  [stanza('if changed pid then alert else if passed then alert'), /cannot have a recovery/],
  ['check file x path /x group vcap depends on', /missing the name/],
];
for (const [text, message] of invalid) {
  test(`an invalid clause is an error: ${message.source}`, () => {
    assert.throws(
      () => parseMonit(text, 'web'),
      (error) => isProductError(error, 'AGENT_MONIT_INVALID') && message.test(error.message),
    );
  });
}

test('splits arguments by monit rules', () => {
  assert.deepEqual(splitArguments("/bin/sh -c 'echo $HOME; exit 1'"), [
    '/bin/sh',
    '-c',
    'echo $HOME; exit 1',
  ]);
  assert.deepEqual(splitArguments("  /a\t'b c' 'd'e f'g  "), ['/a', 'b c', "'d'e", "f'g"]);
  assert.equal(splitArguments("/a '"), undefined);
});

test('property: arguments without quotes and blanks are read back unchanged', () => {
  const word = fc.stringMatching(/^[!#-&(-~]{1,12}$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(word, fc.boolean())), (words) => {
      const text = words.map(([value, quoted]) => (quoted ? `'${value}'` : value)).join(' ');
      assert.deepEqual(
        splitArguments(text),
        words.map(([value]) => value),
      );
    }),
  );
});

test('property: any text is parsed or is a product error that names the job', () => {
  const part = fc.oneof(
    fc.constantFrom(
      'check',
      'process',
      'pidfile',
      'start',
      'stop',
      'group',
      'vcap',
      '"/a b"',
      '"',
      "'",
      '\n',
      '#',
      ...['if', 'failed', 'host', 'port', '80', 'totalmem', '>', '5', '%', 'cycles', 'then', 'alert', 'exec'],
      ...[
        'depends on',
        ',',
        'restarts',
        'else',
        'recovered',
        'set',
        'mail-format',
        '{',
        '}',
        'file',
        'path',
        '/x',
      ],
      ...[
        'matching',
        'changed',
        'not',
        'exist',
        'loadavg(5min)',
        '!=',
        'every',
        'mode',
        'check process x pidfile /x',
      ],
    ),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 25 }), (parts) => {
      try {
        for (const process of parseMonit(parts.join(' '), 'web')) assert.equal(process.job, 'web');
      } catch (error) {
        assert.ok(isProductError(error), String(error));
        assert.match(error.message, /^job 'web': monit line \d+, column \d+: /);
      }
    }),
  );
});

const record = <T>(model: { readonly [K in keyof T]: fc.Arbitrary<T[K]> }): fc.Arbitrary<T> =>
  fc.record(model, { noNullPrototype: true }) as fc.Arbitrary<T>;
const words = fc.array(fc.stringMatching(/^[!#-&(-~]{1,8}$/), { maxLength: 3 });
const programs = fc
  .tuple(fc.stringMatching(/^\/[a-z]{1,5}$/), words, fc.option(fc.constantFrom('vcap', '1000', 'the user')))
  .map(([path, rest, user]): MonitProgram => {
    return {
      arguments: [path, ...rest, 'a b', ''],
      timeoutSeconds: 30,
      user: user ?? undefined,
      group: undefined,
    };
  });
const actions: fc.Arbitrary<MonitAction> = fc.oneof(
  fc.constantFrom('alert', 'restart', 'start', 'stop', 'unmonitor').map((kind) => ({ kind })),
  programs.map((program) => ({ kind: 'exec' as const, program })),
);
const rates = fc
  .tuple(fc.integer({ min: 1, max: 64 }), fc.integer({ min: 1, max: 64 }))
  .map(([one, other]) => ({ count: Math.min(one, other), cycles: Math.max(one, other) }));
const names = fc.stringMatching(/^[^/"'\0][^"'\0]{0,6}$/);
const tests: fc.Arbitrary<MonitTest> = fc.oneof(
  fc.constantFrom<MonitTest[]>({ kind: 'nonexistent' }, { kind: 'changed', what: 'pid' }),
  record({
    kind: fc.constant('resource' as const),
    resource: fc.constantFrom('mem' as const, 'totalmem' as const),
    operator: fc.constantFrom(...(['>', '<', '=', '!='] as const)),
    limit: fc.nat(),
    unit: fc.constantFrom('kB' as const, '%' as const),
  }),
  record({
    kind: fc.constant('connection' as const),
    target: fc.oneof(
      fc.tuple(names, fc.integer({ min: 1, max: 65_535 })).map(([host, port]) => ({ host, port })),
      names.map((name) => ({ path: `/${name}` })),
    ),
    request: fc.option(fc.constantFrom('/', '/health?x=1'), { nil: undefined }),
    timeoutSeconds: fc.integer({ min: 1, max: 99 }),
  }),
);
const rules = fc
  .tuple(tests, rates, actions, fc.option(actions), rates)
  .map(([one, rate, action, back, backRate]): MonitRule => ({
    ...{ test: one, rate, action },
    recovery: back === null || one.kind === 'changed' ? undefined : { rate: backRate, action: back },
  }));
const services: fc.Arbitrary<MonitService> = record({
  job: fc.constant('web'),
  line: fc.constant(0),
  name: names,
  subject: fc.oneof(
    names.map((name) => ({ kind: 'pidfile' as const, path: `/${name}` })),
    fc.constantFrom('rpc.statd', 'a|b', '^/x .*$').map((pattern) => ({ kind: 'matching' as const, pattern })),
  ),
  start: programs,
  stop: fc.option(programs, { nil: undefined }),
  groups: fc.array(names, { maxLength: 2 }).map((more) => ['vcap', ...more]),
  dependsOn: fc.array(names, { maxLength: 3 }),
  mode: fc.constantFrom('active', 'passive', 'manual'),
  every: fc.integer({ min: 1, max: 9 }),
  rules: fc.array(rules, { maxLength: 3 }),
  restartLimits: fc.array(
    record({ restarts: fc.nat(9).map((n) => n + 1), cycles: fc.nat(9).map((n) => n + 1), action: actions }),
    { maxLength: 2 },
  ),
});

test('property: a printed stanza is read back unchanged', () => {
  const withoutLines = (list: readonly MonitService[]): readonly MonitService[] =>
    list.map((service) => ({ ...service, line: 0 }));
  fc.assert(
    fc.property(fc.array(services, { minLength: 1, maxLength: 3 }), (list) => {
      const text = printMonit(list);
      assert.deepEqual(withoutLines(parseMonit(text, 'web')), list, text);
    }),
  );
});
