import fc from 'fast-check';
import { addressAnnotation, annotationsCapability } from '../plugin/requested-addresses.ts';
import type { DelegateOutcome } from '../delegate/run-delegate.ts';
import { verbs } from '../plugin/config.ts';

export interface FuzzedCall {
  readonly environment: Readonly<Record<string, string>>;
  readonly input: string;
  /** The result of the delegate if it is called: never a success. */
  readonly outcome: DelegateOutcome;
}

const surrogates = { first: 0xd800, count: 0x800 };
/** Any character, as in `unit: 'binary'`, which takes seconds to build its map of all characters. */
const unit = fc.nat(0x10ffff - surrogates.count).map(
  (number) => String.fromCodePoint(number < surrogates.first ? number : number + surrogates.count),
  (text) => {
    const [character, ...more] = typeof text === 'string' ? text : '';
    if (character === undefined || more.length > 0) throw new Error('not one character');
    const point = character.codePointAt(0) ?? 0;
    return point < surrogates.first ? point : point - surrogates.count;
  },
);

const odd = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -1,
    1e308,
    '',
    '..',
    'static-ip',
    '10.0.0.7',
    '::',
    [],
    {},
    [[]],
    [null],
  ),
  fc.string({ unit, maxLength: 20 }),
  fc.jsonValue({ maxDepth: 2 }),
);

const addresses = fc.oneof(
  fc.constantFrom(
    '10.88.0.7',
    'fd00::7',
    '10.88.0.7,fd00::7',
    '10.88.0.7/16',
    ',',
    '0.0.0.0',
    '::ffff:10.88.0.7',
  ),
  fc.ipV4(),
  fc.ipV6(),
  fc.string({ maxLength: 30 }),
);

const range = fc.record(
  { subnet: fc.oneof(fc.constant<unknown>('10.88.0.0/16'), odd), rangeStart: odd, gateway: odd },
  { requiredKeys: [] },
);
const ipam = fc.record(
  {
    type: fc.constantFrom<unknown>('host-local', 'calico-ipam', 'dhcp', 1),
    ranges: fc.oneof(fc.array(fc.array(range, { maxLength: 2 }), { maxLength: 2 }), odd),
    subnet: fc.oneof(fc.constant<unknown>('10.88.0.0/16'), odd),
  },
  { requiredKeys: [] },
);
/** Correct more often than wrong: a wrong field ends a call, and later checks would never be reached. */
const mostly = (right: string): fc.Arbitrary<unknown> =>
  fc.oneof({ weight: 12, arbitrary: fc.constant<unknown>(right) }, { weight: 1, arbitrary: odd });

const config = fc.record(
  {
    cniVersion: fc.oneof(fc.constantFrom<unknown>('1.1.0', '1.0.0', '0.4.0', '0.3.1'), mostly('1.1.0')),
    name: mostly('pods'),
    type: mostly('static-ip'),
    delegate: fc.oneof(
      {
        weight: 12,
        arbitrary: fc.record(
          { type: mostly('bridge'), ipam, capabilities: odd, args: odd },
          { requiredKeys: ['type'] },
        ),
      },
      { weight: 1, arbitrary: odd },
    ),
    runtimeConfig: fc.oneof(
      fc.record({
        [annotationsCapability]: fc.oneof(
          fc.record({ [addressAnnotation]: fc.oneof<fc.Arbitrary<unknown>[]>(addresses, odd) }),
          odd,
        ),
      }),
      odd,
    ),
    prevResult: fc.oneof(fc.constant<unknown>({ ips: [{ address: '10.88.0.7/16' }] }), odd),
    args: odd,
    namespaces: fc.oneof(fc.constant<unknown>(['bosh']), odd),
    request: fc.constantFrom<unknown>('runtimeConfig.ips', 'args.cni.ips', 'CNI_ARGS', 'x', null),
    'cni.dev/valid-attachments': odd,
  },
  { requiredKeys: ['cniVersion', 'name', 'delegate'] },
);

/**
 * A parser's stack ends at a depth of thousands; hundreds of such calls show that as well as thousands of
 * them.
 */
const depth = fc.oneof(
  { weight: 20, arbitrary: fc.nat(100) },
  { weight: 1, arbitrary: fc.integer({ min: 2000, max: 20_000 }) },
);

const input = fc.oneof(
  { weight: 10, arbitrary: config.map((value) => JSON.stringify(value)) },
  {
    weight: 2,
    arbitrary: fc.tuple(config, fc.nat(400)).map(([value, at]) => JSON.stringify(value).slice(0, at)),
  },
  { weight: 1, arbitrary: fc.string({ unit, maxLength: 50 }) },
  { weight: 1, arbitrary: depth.map((count) => '['.repeat(count)) },
);

/** Without NUL, which an environment cannot contain. */
const word = fc.string({ unit, maxLength: 20 }).map((text) => text.replaceAll('\0', ''));
const variable = (right: string): fc.Arbitrary<string> =>
  fc.oneof({ weight: 20, arbitrary: fc.constant(right) }, { weight: 1, arbitrary: word });

const variables = {
  CNI_COMMAND: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<string>(...verbs.filter((verb) => verb !== 'VERSION')) },
    { weight: 1, arbitrary: word },
  ),
  CNI_CONTAINERID: variable('c1'),
  CNI_NETNS: variable('/proc/1/ns/net'),
  CNI_IFNAME: variable('eth0'),
  CNI_ARGS: variable('IgnoreUnknown=1;K8S_POD_NAMESPACE=bosh;K8S_POD_NAME=p'),
  CNI_PATH: variable('/nonexistent'),
};
/** Complete in most cases; otherwise any variable may be missing. */
const environment = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record(variables, {
      requiredKeys: ['CNI_COMMAND', 'CNI_CONTAINERID', 'CNI_NETNS', 'CNI_IFNAME', 'CNI_PATH'],
    }),
  },
  { weight: 1, arbitrary: fc.record(variables, { requiredKeys: [] }) },
);

const failing = fc.oneof(
  fc
    .record(
      { code: fc.oneof(fc.nat(999), odd), msg: fc.oneof(fc.string(), odd), details: odd },
      { requiredKeys: [] },
    )
    .map((error) => ({ exit: 1, stdout: JSON.stringify(error) })),
  fc.record({
    exit: fc.constantFrom<number | string>(1, 2, 255, 'SIGKILL'),
    stdout: fc.string({ unit }),
  }),
);

/** Calls that cannot succeed, most of them almost correct. */
export const fuzzedCalls: fc.Arbitrary<FuzzedCall> = fc.record({ environment, input, outcome: failing });

/** Bytes that are not UTF-8, inserted into the input or in place of it; undefined: the unchanged input. */
export const oddBytes: fc.Arbitrary<((input: string) => Uint8Array) | undefined> = fc.option(
  fc
    .record({ at: fc.nat(600), isAlone: fc.boolean(), bytes: fc.uint8Array({ minLength: 1, maxLength: 8 }) })
    .map(({ at, isAlone, bytes }) => (text: string): Uint8Array => {
      const whole = Buffer.from(text);
      const strange = Buffer.concat([bytes, Buffer.of(0xff, 0xc0)]);
      return isAlone ? strange : Buffer.concat([whole.subarray(0, at), strange, whole.subarray(at)]);
    }),
  { nil: undefined },
);
