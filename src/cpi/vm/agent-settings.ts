import type { JsonObject } from '../../platform/json.ts';
import { type CpiConfig } from '../config/config.ts';
import { ProductError } from '../../errors/product-error.ts';

export interface AgentSettingsInput {
  readonly agentId: string;
  readonly cid: string;
  readonly networks: Readonly<Record<string, JsonObject>>;
  readonly env: JsonObject;
  readonly agent: CpiConfig['agent'];
}

/** The blobstore that create-env's agent and the CLI share (bosh-deployment: bosh.yml). */
const localBlobstore = {
  provider: 'local',
  options: { blobstore_path: '/var/vcap/micro_bosh/data/cache' },
};

/**
 * Returns the settings document of the agent (bosh-agent: settings/settings.go) as JSON. Secret. The networks
 * are preconfigured, because Kubernetes has set them up. Their name servers are in the pod (`nameServers`):
 * for name servers in the settings an agent would restart systemd-resolved. The document has no disks: hints
 * come by add_persistent_disk.
 */
export function agentSettings({ agentId, cid, networks, env, agent }: AgentSettingsInput): string {
  const mbus = agent.mbus ?? firstMbusUrl(env);
  if (mbus === undefined) {
    throw new ProductError(
      'INVALID_CONFIG',
      'config.agent.mbus is not set and env.bosh.mbus.urls is empty: the agent would have no address for messages; set the property agent.mbus of the CPI',
    );
  }
  // no agent supports plain http, and over http the password would be sent in clear text
  if (/^http:/iu.test(mbus.trim())) {
    throw new ProductError(
      'INVALID_CONFIG',
      'the mbus of the VM (agent.mbus, or the first of env.bosh.mbus.urls) is plain http, which sends the password in clear text; give https or nats',
    );
  }
  const preconfigured = Object.entries(networks).map(([name, network]) => [
    name,
    { ...omitDns(network), preconfigured: true },
  ]);
  return JSON.stringify({
    agent_id: agentId,
    vm: { name: cid },
    mbus,
    ntp: agent.ntp,
    blobstore: agent.blobstore ?? localBlobstore,
    networks: Object.fromEntries(preconfigured),
    disks: { system: '', ephemeral: '', persistent: {}, raw_ephemeral: [] },
    env,
  });
}

function omitDns(network: JsonObject): JsonObject {
  const { dns: _, ...rest } = network;
  return rest;
}

function firstMbusUrl(env: JsonObject): string | undefined {
  const urls: unknown = (env['bosh'] as { mbus?: { urls?: unknown } } | null | undefined)?.mbus?.urls;
  return Array.isArray(urls) && typeof urls[0] === 'string' ? urls[0] : undefined;
}
