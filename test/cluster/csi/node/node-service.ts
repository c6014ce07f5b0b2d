import { zoneKeyOf } from '../drivers.ts';
import type { Handlers } from '../grpc/serve.ts';
import { expandVolume } from './expand-volume.ts';
import type { CsiNode } from './node.ts';
import { publishVolume, unpublishVolume } from './publish-volume.ts';
import { stageVolume } from './stage-volume.ts';
import { unstageVolume } from './unstage-volume.ts';
import { volumeStats } from './volume-stats.ts';

/** csi.v1.Node: each method by its name. */
export function nodeService(node: CsiNode): Handlers {
  const { driver, nodeId, zone } = node;
  const capabilities = [
    'STAGE_UNSTAGE_VOLUME',
    'GET_VOLUME_STATS',
    'SINGLE_NODE_MULTI_WRITER',
    ...(driver.canExpand ? ['EXPAND_VOLUME'] : []),
  ].map((type) => ({ rpc: { type } }));
  const topology =
    driver.isZonal && zone !== undefined
      ? { accessibleTopology: { segments: { [zoneKeyOf(driver)]: zone } } }
      : {};
  return {
    NodeStageVolume: stageVolume(node),
    NodeUnstageVolume: unstageVolume(node),
    NodePublishVolume: publishVolume(node),
    NodeUnpublishVolume: unpublishVolume(node),
    NodeExpandVolume: expandVolume(node),
    NodeGetVolumeStats: volumeStats,
    NodeGetCapabilities: () => Promise.resolve({ capabilities }),
    NodeGetInfo: () => Promise.resolve({ nodeId, ...topology }),
  };
}
