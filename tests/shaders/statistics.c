// Compiles SPIR-V compute shaders for the device of a Vulkan driver, without running them, and prints what the compiler says
// of each: registers, spills, shared memory, code size. Ends with 1 where a shader is refused or spills.
//
// RADV compiles for hardware that is not there: VK_ICD_FILENAMES=.../radeon_icd.x86_64.json RADV_FORCE_FAMILY=navi21.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan.h>

static void need(int good, const char *what) {
    if (!good) {
        fprintf(stderr, "%s failed\n", what);
        exit(2);
    }
}

// The bindings of a shader, from its decorations: storage buffers, and uniform ones.
static uint32_t find_bindings(const uint32_t *words, size_t count, VkDescriptorSetLayoutBinding *bindings) {
    enum { OpVariable = 59, OpDecorate = 71, Binding = 33, Uniform = 2, StorageBuffer = 12 };
    uint32_t found = 0;
    for (size_t i = 5; i < count; i += words[i] >> 16) {
        if ((words[i] & 0xffff) != OpDecorate || words[i + 2] != Binding) continue;
        for (size_t j = 5; j < count; j += words[j] >> 16) {
            if ((words[j] & 0xffff) != OpVariable || words[j + 2] != words[i + 1]) continue;
            int storage = words[j + 3] == StorageBuffer;
            bindings[found++] = (VkDescriptorSetLayoutBinding){
                .binding = words[i + 3],
                .descriptorType = storage ? VK_DESCRIPTOR_TYPE_STORAGE_BUFFER : VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER,
                .descriptorCount = 1,
                .stageFlags = VK_SHADER_STAGE_COMPUTE_BIT,
            };
        }
    }
    return found;
}

static uint32_t *read_words(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    need(file != NULL, path);
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    uint32_t *words = malloc(*bytes);
    need(fread(words, 1, *bytes, file) == *bytes, path);
    fclose(file);
    return words;
}

// Prints a shader's statistics; returns what it spills, or -1 where it is refused.
static long compile(VkDevice device, const char *path, const char *entry_point) {
    size_t bytes;
    uint32_t *words = read_words(path, &bytes);
    VkDescriptorSetLayoutBinding bindings[32];
    VkDescriptorSetLayoutCreateInfo set_info = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO};
    set_info.bindingCount = find_bindings(words, bytes / 4, bindings);
    set_info.pBindings = bindings;
    VkDescriptorSetLayout set;
    need(vkCreateDescriptorSetLayout(device, &set_info, NULL, &set) == VK_SUCCESS, "descriptor set layout");
    VkPipelineLayoutCreateInfo layout_info = {
        .sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO, .setLayoutCount = 1, .pSetLayouts = &set};
    VkPipelineLayout layout;
    need(vkCreatePipelineLayout(device, &layout_info, NULL, &layout) == VK_SUCCESS, "pipeline layout");
    VkShaderModuleCreateInfo module_info = {
        .sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO, .codeSize = bytes, .pCode = words};
    VkShaderModule module;
    if (vkCreateShaderModule(device, &module_info, NULL, &module) != VK_SUCCESS) return -1;
    VkComputePipelineCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO,
        .flags = VK_PIPELINE_CREATE_CAPTURE_STATISTICS_BIT_KHR,
        .stage = {.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO,
                  .stage = VK_SHADER_STAGE_COMPUTE_BIT, .module = module, .pName = entry_point},
        .layout = layout,
    };
    VkPipeline pipeline;
    if (vkCreateComputePipelines(device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline) != VK_SUCCESS) return -1;
    PFN_vkGetPipelineExecutableStatisticsKHR statistics =
        (PFN_vkGetPipelineExecutableStatisticsKHR)vkGetDeviceProcAddr(device, "vkGetPipelineExecutableStatisticsKHR");
    need(statistics != NULL, "vkGetPipelineExecutableStatisticsKHR");
    VkPipelineExecutableInfoKHR which = {.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_INFO_KHR, .pipeline = pipeline};
    uint32_t count = 64;
    VkPipelineExecutableStatisticKHR found[64];
    for (uint32_t i = 0; i < count; i++) {
        found[i] = (VkPipelineExecutableStatisticKHR){.sType = VK_STRUCTURE_TYPE_PIPELINE_EXECUTABLE_STATISTIC_KHR};
    }
    statistics(device, &which, &count, found);
    long spills = 0;
    for (uint32_t i = 0; i < count; i++) {
        unsigned long long value = found[i].value.u64;
        printf("  %s %llu", found[i].name, value);
        // Scratch alone is no spill: arrays over the features are indexed, and live there where they are long.
        if (strstr(found[i].name, "pilled")) spills += (long)value;
    }
    printf("\n");
    need(count > 0, "statistics");
    return spills;
}

// Arguments: pairs of a SPIR-V file and its entry point.
int main(int argc, char **argv) {
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo instance_info = {
        .sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    VkInstance instance;
    need(vkCreateInstance(&instance_info, NULL, &instance) == VK_SUCCESS, "vkCreateInstance");
    uint32_t one = 1;
    VkPhysicalDevice physical;
    vkEnumeratePhysicalDevices(instance, &one, &physical);
    need(one == 1, "finding a device");
    VkPhysicalDeviceProperties properties;
    vkGetPhysicalDeviceProperties(physical, &properties);
    printf("%s\n", properties.deviceName);
    const char *extensions[] = {"VK_KHR_pipeline_executable_properties"};
    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO, .queueCount = 1, .pQueuePriorities = &priority};
    VkPhysicalDevicePipelineExecutablePropertiesFeaturesKHR executable = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PIPELINE_EXECUTABLE_PROPERTIES_FEATURES_KHR,
        .pipelineExecutableInfo = VK_TRUE};
    VkPhysicalDeviceFeatures features = {.shaderFloat64 = VK_TRUE, .shaderInt64 = VK_TRUE};
    VkDeviceCreateInfo device_info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .pNext = &executable, .queueCreateInfoCount = 1,
        .pQueueCreateInfos = &queue, .enabledExtensionCount = 1, .ppEnabledExtensionNames = extensions,
        .pEnabledFeatures = &features};
    VkDevice device;
    need(vkCreateDevice(physical, &device_info, NULL, &device) == VK_SUCCESS, "vkCreateDevice");
    int bad = 0;
    for (int i = 1; i + 1 < argc; i += 2) {
        const char *slash = strrchr(argv[i], '/');
        printf("%s:", slash ? slash + 1 : argv[i]);
        long spills = compile(device, argv[i], argv[i + 1]);
        if (spills != 0) {
            printf("%s: %s\n", argv[i], spills < 0 ? "refused" : "spills");
            bad = 1;
        }
        fflush(stdout);
    }
    return bad;
}
