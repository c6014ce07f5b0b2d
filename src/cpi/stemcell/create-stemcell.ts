import { parseImage, formatStemcellCid, architectureIn } from './stemcell-cid.ts';
import { ProductError } from '../../errors/product-error.ts';
import type { CallContext } from '../call.ts';
import type { CreateStemcellRequest } from '../protocol/methods.ts';
import { Field } from '../../platform/field.ts';
import { speaksNats } from '../../bosh/stemcell/stemcell.ts';
import type { AgentConfig } from '../config/config.ts';
import type { JsonObject } from '../../platform/json.ts';

/**
 * create_stemcell(image_path, cloud_properties[, env]). Light (`docker-light`, `warden-light`): returns the
 * image reference, pinned by the digest if one is known, with the architecture if cloud_properties name it
 * (stemcell-cid.ts). It creates nothing: nodes pull the image themselves and check the digest. The same
 * stemcell gives the same cid. Heavy (`warden-tar`): pushes the root file system to the configured registry
 * under a manifest of its own, which has the env's tags (push-stemcell.ts). Heavy without a registry:
 * NOT_SUPPORTED. With an agent that does not speak NATS, for a director: AGENT_NOT_SUPPORTED.
 */
export async function createStemcell(
  call: CallContext,
  { imagePath, cloudProperties: properties, env: { tags } }: CreateStemcellRequest,
): Promise<string> {
  assertAgentSupported(properties, call.config.agent);
  const light = readLightImage(new Field(properties, 'create_stemcell.cloud_properties', 'INVALID_ARGUMENT'));
  if (light !== undefined)
    return formatStemcellCid({ image: light, architecture: architectureIn(properties['architecture']) });
  const { registry } = call.config;
  if (registry === undefined) {
    throw new ProductError(
      'NOT_SUPPORTED',
      'create_stemcell.cloud_properties has no image_reference, so the stemcell is heavy, and a heavy one must be ' +
        'pushed to a registry: set the properties registry.url and registry.repository of the CPI, or use a light ' +
        'stemcell (docker-light), which `bosh-kubernetes stemcell build` creates from this one',
    );
  }
  // loaded here, so that a light stemcell does not pay for the registry client
  const { pushStemcell } = await import('./push-stemcell.ts');
  return pushStemcell(call, registry, { imagePath, properties, tags });
}

/**
 * Returns the image that the cloud_properties of a light stemcell name; undefined for those of a heavy one,
 * which name no image. Other keys (name, version, architecture, …) describe the image and are not read.
 */
export function readLightImage(properties: Field): string | undefined {
  const reference = properties.get('image_reference');
  if (!reference.isPresent) return undefined;
  const image = reference.nonEmptyString();
  const parts = parseImage(image, reference);
  const digest = properties
    .get('digest')
    .optional()
    ?.stringThat((text) => /^sha256:[0-9a-f]{64}$/u.test(text), 'must be sha256: and 64 hexadecimal digits');
  if (digest !== undefined && parts.digest !== undefined && digest !== parts.digest) {
    throw properties
      .get('digest')
      .error(`is not the digest in image_reference: ${digest} and ${parts.digest}`);
  }
  const pinned = digest ?? parts.digest;
  return pinned === undefined ? image : `${parts.name}@${pinned}`;
}

/**
 * Rejects a stemcell of an earlier version of this project, whose agent speaks HTTPS only, if the agents are
 * called by NATS, as by a director: a deployment of that stemcell would wait for its first VM until the
 * timeout. Upstream's stemcells do not say what their agent speaks, and are accepted. Rejects with
 * AGENT_NOT_SUPPORTED.
 */
export function assertAgentSupported(properties: JsonObject, { mbus = '' }: AgentConfig): void {
  if (speaksNats(properties) || !/^(nats|tls):/iu.test(mbus)) return;
  throw new ProductError(
    'AGENT_NOT_SUPPORTED',
    "The stemcell's cloud_properties have 'agent: bosh-kubernetes' without 'agent_bus: nats': an earlier version of this project built it, " +
      "and its agent speaks only HTTPS. The CPI's property agent.mbus is a NATS URL, which a director uses for its VMs, so no VM of this " +
      "stemcell would respond; build the stemcell again with this version of 'bosh-kubernetes stemcell build'",
  );
}
