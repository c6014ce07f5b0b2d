import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { BrokerConfig } from '../config.ts';
import { nfsOffering, smbOffering } from '../offerings/offering.ts';
import type { Preflight } from '../preflight.ts';
import { startBroker } from '../start-broker.ts';
import { temporaryConfig } from '../broker-demo.ts';

const operator = { defaults: {}, forced: {} };
export const nfs = nfsOffering({ ldap: false, operator, maintenance: { version: '1.2.0' } });
export const smb = smbOffering({ operator, maintenance: undefined });

export const auth = { username: 'broker', passwords: ['pass-word-1', 'pass-word-2'] };

export interface Call {
  readonly body?: unknown;
  /** A body that is sent unchanged. */
  readonly text?: string | Uint8Array<ArrayBuffer>;
  /** Headers that replace those of a Cloud Controller. undefined removes one. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
}

export interface Reply {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly text: string;
  readonly headers: Headers;
}

export type CallBroker = (method: string, path: string, call?: Call) => Promise<Reply>;

const configIn = (directory: string): BrokerConfig => ({
  ...temporaryConfig(directory),
  auth,
  offerings: [nfs, smb],
});

/**
 * Starts a broker on a free port with a SQLite file. Returns a function that calls it as Cloud Controller
 * does; `log` contains its log.
 */
export async function testBroker(
  t: TestContext,
  changes: Partial<BrokerConfig> = {},
  checkShare?: Preflight,
): Promise<{ call: CallBroker; url: string; log: string[]; directory: string }> {
  const directory = await mkdtemp(join(tmpdir(), 'volume-broker-'));
  const log: string[] = [];
  const config = { ...configIn(directory), ...changes };
  const running = await startBroker(config, (line) => void log.push(line), checkShare);
  const { url } = running;
  t.after(async () => {
    await running.stop();
    await rm(directory, { recursive: true });
  });
  return { call: callerOf(url), url, log, directory };
}

export function callerOf(url: string): CallBroker {
  return async (method, path, { body, text, headers = {} } = {}) => {
    const sent = {
      authorization: `Basic ${btoa(`${auth.username}:${auth.passwords[0] ?? ''}`)}`,
      'x-broker-api-version': '2.15',
      'content-type': 'application/json',
      ...headers,
    };
    const given = Object.entries(sent).filter((entry): entry is [string, string] => entry[1] !== undefined);
    const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const response = await fetch(`${url}${path}`, {
      method,
      headers: given,
      ...(content === undefined ? {} : { body: content }),
    });
    const answer = await response.text();
    const isJson = response.headers.get('content-type')?.startsWith('application/json') === true;
    const parsed = isJson && answer !== '' ? (JSON.parse(answer) as Record<string, unknown>) : {};
    return { status: response.status, body: parsed, text: answer, headers: response.headers };
  };
}

export const instancePath = '/v2/service_instances/instance-1';
export const bindingPath = `${instancePath}/service_bindings/binding-1`;
export const nfsPlan = { service_id: nfs.id, plan_id: nfs.plan.id };
export const smbPlan = { service_id: smb.id, plan_id: smb.plan.id };
export const nfsQuery = `?service_id=${nfs.id}&plan_id=${nfs.plan.id}&accepts_incomplete=true`;
export const smbQuery = `?service_id=${smb.id}&plan_id=${smb.plan.id}&accepts_incomplete=true`;

export const provisionBody = {
  ...nfsPlan,
  organization_guid: 'org-1',
  space_guid: 'space-1',
  context: { platform: 'cloudfoundry' },
  parameters: { share: 'server/export' },
};
export const bindBody = { ...nfsPlan, app_guid: 'app-1', parameters: { uid: '1000', gid: '1000' } };
export const smbProvisionBody = { ...provisionBody, ...smbPlan, parameters: { share: '//server/share' } };
export const smbSecret = 'pa,ss w<>rd-of-the-share';
export const smbBindBody = {
  ...smbPlan,
  app_guid: 'app-1',
  parameters: { username: 'user', password: smbSecret },
};
