"""Types and reasons of the conditions that users meet; foreign reasons are passed on under their own names."""

from typing import Final

# Conditions of every reconciled kind, beside one `<Component>Ready` per component.
READY: Final = "Ready"
DEPENDENCIES_REACHABLE: Final = "DependenciesReachable"
AUTH_VALID: Final = "AuthValid"
CONFIG_VALID: Final = "ConfigValid"

# Conditions that are no component's.
DISCOVERED: Final = "Discovered"
CACHE_READY: Final = "CacheReady"
DOWNLOAD_COMPLETE: Final = "DownloadComplete"
SYNCING: Final = "Syncing"
REGISTRY_REACHABLE: Final = "RegistryReachable"
MAX_MODELS_LIMIT_REACHED: Final = "MaxModelsLimitReached"

# Reasons of the conditions of every kind.
ALL_COMPONENTS_READY: Final = "AllComponentsReady"
PROGRESSING: Final = "Progressing"
REACHABLE: Final = "Reachable"
INFRASTRUCTURE_ERROR: Final = "InfrastructureError"
AUTHENTICATION_VALID: Final = "AuthenticationValid"
AUTH_ERROR: Final = "AuthError"
CONFIGURATION_VALID: Final = "ConfigurationValid"
INVALID_SPEC: Final = "InvalidSpec"
REFERENCE_NOT_FOUND: Final = "ReferenceNotFound"

# Shared reasons.
IMAGE_PULL_AUTH_FAILURE: Final = "ImagePullAuthFailure"
IMAGE_NOT_FOUND: Final = "ImageNotFound"
IMAGE_PULL_BACK_OFF: Final = "ImagePullBackOff"
NOT_FOUND: Final = "NotFound"
RESOLVED: Final = "Resolved"

# Runtime configs.
DEFAULT_CONFIG_NOT_FOUND: Final = "DefaultConfigNotFound"
CONFIG_NOT_FOUND: Final = "ConfigNotFound"
RUNTIME_CONFIG_RESOLVED: Final = "RuntimeConfigResolved"

# Models.
METADATA_EXTRACTION_FAILED: Final = "MetadataExtractionFailed"
ALL_TEMPLATES_READY: Final = "AllTemplatesReady"
SOME_TEMPLATES_READY: Final = "SomeTemplatesReady"
SOME_TEMPLATES_DEGRADED: Final = "SomeTemplatesDegraded"
ALL_TEMPLATES_FAILED: Final = "AllTemplatesFailed"
NO_TEMPLATES_AVAILABLE: Final = "NoTemplatesAvailable"
NO_TEMPLATES_EXPECTED: Final = "NoTemplatesExpected"
TEMPLATES_PROGRESSING: Final = "TemplatesProgressing"
AWAITING_METADATA: Final = "AwaitingMetadata"
CREATING_TEMPLATES: Final = "CreatingTemplates"

# Templates.
DISCOVERY_COMPLETE: Final = "DiscoveryComplete"
INLINE_MODEL_SOURCES: Final = "InlineModelSources"
AWAITING_DISCOVERY: Final = "AwaitingDiscovery"
DISCOVERY_FAILED: Final = "DiscoveryFailed"
GPU_NOT_AVAILABLE: Final = "GPUNotAvailable"
VRAM_NOT_AVAILABLE: Final = "VRAMNotAvailable"
WAITING_FOR_CACHE: Final = "WaitingForCache"
CACHE_DEGRADED: Final = "CacheDegraded"

# Services.
INVALID_IMAGE_REFERENCE: Final = "InvalidImageReference"
MODEL_NOT_FOUND: Final = "ModelNotFound"
CREATING_MODEL: Final = "CreatingModel"
MODEL_NOT_READY: Final = "ModelNotReady"
MODEL_RESOLVED: Final = "ModelResolved"
TEMPLATE_NOT_FOUND: Final = "TemplateNotFound"
TEMPLATE_NOT_READY: Final = "TemplateNotReady"
TEMPLATE_SELECTION_AMBIGUOUS: Final = "TemplateSelectionAmbiguous"
CACHE_CREATING: Final = "CacheCreating"
CACHE_NOT_READY: Final = "CacheNotReady"
CACHE_FAILED: Final = "CacheFailed"
CACHE_LOST: Final = "CacheLost"
CREATING_RUNTIME: Final = "CreatingRuntime"
RUNTIME_READY: Final = "RuntimeReady"
PATH_TEMPLATE_INVALID: Final = "PathTemplateInvalid"
ROUTE_CONFLICT: Final = "RouteConflict"
GATEWAY_NOT_CONFIGURED: Final = "GatewayNotConfigured"

# Downloads and template caches.
DOWNLOADING: Final = "Downloading"
VERIFYING: Final = "Verifying"
VERIFIED: Final = "Verified"
VERIFICATION_FAILED: Final = "VerificationFailed"
