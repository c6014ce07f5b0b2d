/**
 * Media types of OCI images (image-spec, media-types.md) and of Docker images, which registries and layouts
 * also contain.
 */
export const mediaTypes = {
  index: 'application/vnd.oci.image.index.v1+json',
  manifest: 'application/vnd.oci.image.manifest.v1+json',
  config: 'application/vnd.oci.image.config.v1+json',
  layer: 'application/vnd.oci.image.layer.v1.tar',
  gzipLayer: 'application/vnd.oci.image.layer.v1.tar+gzip',
  zstdLayer: 'application/vnd.oci.image.layer.v1.tar+zstd',
  dockerIndex: 'application/vnd.docker.distribution.manifest.list.v2+json',
  dockerManifest: 'application/vnd.docker.distribution.manifest.v2+json',
} as const;
