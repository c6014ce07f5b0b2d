import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { isProductError } from '../../errors/product-error.ts';
import { parseMonit } from './parser.ts';
import { splitArguments } from './split-arguments.ts';

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
      pidFile: '/var/vcap/sys/run/web/web.pid',
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

test('an empty file declares nothing', () => {
  assert.deepEqual(parseMonit('\n# nothing to watch\n', 'web'), []);
});

const refused: readonly (readonly [string, RegExp])[] = [
  [stanza('depends on db'), /job 'web': monit line 5, column 3: .*'depends on db'/],
  [stanza('if totalmem > 100 Mb then restart'), /line 5, column 3: .*'if totalmem > 100 Mb then restart'/],
  [stanza('if failed host 127.0.0.1 port 80 then restart'), /'if failed host/],
  [stanza('every 2 cycles'), /'every 2 cycles'/],
  [stanza('mode manual'), /'mode manual'/],
  [stanza('restart program "/bin/again"'), /'restart program/],
  ['check file x with path /x\n', /line 1, column 1: .*'check file x with path \/x'/],
  ['check process web matching "x"\n', /has no pidfile/],
  ['set daemon 10\n', /'set daemon 10'/],
];
for (const [text, message] of refused) {
  test(`refuses by name: ${message.source}`, () => {
    assert.throws(
      () => parseMonit(text, 'web'),
      (error) => isProductError(error, 'AGENT_NOT_SUPPORTED') && message.test(error.message),
    );
  });
}

const invalid: readonly (readonly [string, RegExp])[] = [
  ['check process web with pidfile /x start program "/bin/x\n', /line 1, column 49: .*no closing "/],
  ['check process web with pidfile x start program "/bin/x" group vcap', /no absolute path/],
  ['check process web with pidfile /x group vcap', /has no start program/],
  ['check process web with pidfile /x start program "/bin/x"', /group vcap/],
  ['check process web with pidfile /x start program /bin/x group vcap', /double-quoted/],
  ['check process web with pidfile /x start program "bin/x" group vcap', /no absolute path/],
  [
    'check process web with pidfile /x start program "/b" with timeout soon group vcap',
    /no number of seconds/,
  ],
  ['check process', /missing the name/],
  [stanza() + stanza(), /declared twice/],
];
for (const [text, message] of invalid) {
  test(`cannot read: ${message.source}`, () => {
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

test('property: arguments without quotes and blanks come back as they were', () => {
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

test('property: whatever the text, the answer is processes or a product error that names the job', () => {
  const piece = fc.oneof(
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
      'if',
    ),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 25 }), (pieces) => {
      try {
        for (const process of parseMonit(pieces.join(' '), 'web')) assert.equal(process.job, 'web');
      } catch (error) {
        assert.ok(isProductError(error), String(error));
        assert.match(error.message, /^job 'web': monit line \d+, column \d+: /);
      }
    }),
  );
});

test('property: names, paths and programs come back from a written stanza', () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9_-]{0,15}$/);
  const path = fc.stringMatching(/^(\/[A-Za-z0-9._-]{1,8}){1,4}$/);
  fc.assert(
    fc.property(name, path, fc.array(path, { minLength: 1, maxLength: 4 }), (process, pidFile, program) => {
      const text = `check process ${process} with pidfile ${pidFile}\n start program "${program.join(' ')}"\n group vcap`;
      const [read] = parseMonit(text, 'web');
      assert.equal(read?.name, process);
      assert.equal(read?.pidFile, pidFile);
      assert.deepEqual(read?.start.arguments, program);
    }),
  );
});
