import { ProductError } from '../../errors/product-error.ts';
import type { AgentServices } from '../services.ts';
import { resolveBusAddress } from './bus-address.ts';
import type { Bus } from './bus.ts';
import { natsCredentials, NatsBus } from './nats-bus.ts';
import { isNatsUrl, parseNatsServers } from './nats-servers.ts';
import { HttpsBus } from './https-bus.ts';

/** Below the 45 s for which a director waits for an answer. */
const exchangeDeadlineMs = 30_000;

/**
 * Creates the bus that the settings name: NATS for the agent of a director, HTTPS for the one of create-env.
 * `machine` is the VM's own address. Throws AGENT_SETTINGS_INVALID if the settings cannot be used.
 */
export function createBus({
  services,
  machine,
  onConnected,
}: {
  readonly services: AgentServices;
  readonly machine: string;
  readonly onConnected: () => void;
}): Bus {
  const { settings, updatedSettings, log, clock } = services;
  const { certificate, mbusUrls } = settings;
  if (certificate === undefined)
    throw new ProductError(
      'AGENT_SETTINGS_INVALID',
      'the settings have no env.bosh.mbus.cert with certificate and private_key',
    );
  // Later it would be too late: the first apply would fail.
  const blobstore = services.openBlobstore(settings.blobstore);
  if (!isNatsUrl(mbusUrls[0])) {
    if (blobstore !== undefined)
      throw new ProductError(
        'AGENT_SETTINGS_INVALID',
        `the settings name the blobstore provider '${settings.blobstore?.provider}', but create-env sends blobs by ` +
          "the HTTPS bus: use the provider 'local', or NATS for the agent of a director",
      );
    const address = resolveBusAddress(settings, machine);
    return new HttpsBus({ address, certificate, blobs: services.blobs.local, log });
  }
  const updated = updatedSettings.current?.certificate;
  const credentials = [updated, certificate].flatMap((one) =>
    one === undefined ? [] : [natsCredentials(one)],
  );
  const servers = parseNatsServers(mbusUrls);
  const { agentId } = settings;
  return new NatsBus({ agentId, servers, credentials, onConnected, exchangeDeadlineMs, clock, log });
}
