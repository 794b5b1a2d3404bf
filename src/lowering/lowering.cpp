// SPDX-License-Identifier: Apache-2.0
// Step by step from program to queues.
#include "trnsim/lowering/lowering.hpp"

#include "trnsim/base/error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace trnsim::lowering {

using neuron_core::InstructionSink;
using neuron_core::queue_of;
using neuron_core::queue_of_ring;
using neuron_core::QueueId;
using program::Step;

namespace {

/// By run: whether a loop around it keeps the order of its instructions.
std::vector<bool> runs_in_order(const program::Program& program) {
    std::vector<bool> in_order(program.runs.size());
    int loops = 0;
    for (const program::Node& node : program.nodes) {
        if (node.kind == program::Node::Kind::Run) {
            in_order[node.index] = loops > 0;
        } else if (node.kind == program::Node::Kind::Loop) {
            loops += program.loops[node.index].is_in_order ? 1 : 0;
        } else if (node.kind == program::Node::Kind::End) {
            loops -= program.loops[node.index].is_in_order ? 1 : 0;
        }
    }
    return in_order;
}

/// \throws ProgramError if the tensors in HBM do not fit there
void check_hbm(const program::Program& program, const ChipSpec& chip) {
    const auto capacity = static_cast<double>(chip.hbm.bytes());
    double bytes = 0.0;
    for (const program::Buffer& buffer : program.buffers) {
        bytes += buffer.space == Space::Hbm ? static_cast<double>(buffer.free_bytes()) : 0.0;
    }
    if (bytes > capacity) {
        constexpr double kGib = double{kKib} * kKib * kKib;
        throw ProgramError(
            fmt::format("HBM: the tensors of the program take {:.1f} GiB, but {} has {:.0f} GiB; "
                        "make them smaller",
                        bytes / kGib,
                        chip.short_name,
                        capacity / kGib));
    }
}

/// Whether the compiler sees no loop, but one piece of code.
bool is_unrolled(const program::Program& program) {
    return std::ranges::all_of(
        program.loops, [](const program::Loop& loop) { return program::is_unrolled(loop.kind); });
}

/// How many steps of a queue are looked at, by queue. In one piece of code Sync, which computes
/// nothing, triggers in program order.
ReorderWindow::Reach reach_of(const program::Program& program, const Policies& policies) {
    ReorderWindow::Reach reach{};
    reach.fill(static_cast<int>(policies.reorder_window));
    reach[queue_of(Engine::Tensor)] = static_cast<int>(policies.matmul_window);
    if (is_unrolled(program)) {
        reach[queue_of(Engine::Sync)] = 1;
    }
    return reach;
}

/// How many steps are kept to choose from.
std::size_t capacity_of(const Policies& policies) {
    // The steps of other queues lie between those that are compared.
    constexpr std::int64_t kOtherSteps = 2;
    const std::int64_t farthest = std::max(policies.reorder_window, policies.matmul_window);
    return static_cast<std::size_t>(policies.reorders() ? kOtherSteps * farthest : 1);
}

}  // namespace

Lowering::Lowering(const program::Program& program, const ChipSpec& chip, const Policies& policies)
    : Lowering(program, chip, policies, analyse_liveness(program)) {}

Lowering::Lowering(const program::Program& program,
                   const ChipSpec& chip,
                   const Policies& policies,
                   std::vector<SiteLiveness> liveness)
    : program_(program),
      policies_(policies),
      table_(program, chip),
      rings_(plan_rings(program, chip, policies)),
      plans_(plan_instructions(program, chip, table_, rings_, policies)),
      estimate_(chip, policies.planned_dma_rate),
      emitter_(program, chip, policies, plans_, table_, estimate_),
      liveness_(std::move(liveness)),
      loads_(plan_loads(chip)),
      tiles_(program,
             liveness_,
             chip,
             policies,
             emitter_,
             loads_ ? loads_->needs() : std::vector<LoadPlan::Need>{}),
      cursor_(program),
      places_(program, chip, loads_, tiles_),
      is_in_order_(runs_in_order(program)),
      runtime_iterations_(program, policies),
      window_(reach_of(program, policies), capacity_of(policies), estimate_, tiles_) {
    if (chip.neuron_core.semaphore_file.count < kOrderingSemaphores) {
        throw ConfigError(fmt::format(
            "neuron_core.semaphore_file.count: {}, but {} are needed to order {} queues; "
            "set at least {}",
            chip.neuron_core.semaphore_file.count,
            kOrderingSemaphores,
            neuron_core::kQueues,
            kOrderingSemaphores));
    }
    check_hbm(program, chip);
    limit_loads();
    if (loads_) {
        follow_plan(chip);
    }
    demand_ = QueueDemand(program, plans_, table_, policies);
    const std::size_t identities = emitter_.identities().size();
    if (identities > 0) {
        transposes_.need_done(queue_of_ring(0), identities);
    }
    if (runtime_iterations_.has_any()) {
        demand_.expect_always(1U << queue_of(Engine::Sync));
    }
    if (tiles_.can_spill() || identities > 0) {
        demand_.expect_always(1U << queue_of_ring(0) |
                              trigger_queue(emitter_.spill_trigger().engine));
    }
}

std::optional<LoadPlan> Lowering::plan_loads(const ChipSpec& chip) const {
    if (policies_.loads != LoadTiming::JustInTime) {
        return std::nullopt;
    }
    return LoadPlan::make(
        program_, liveness_, plans_, table_, chip, RuntimeIterations(program_, policies_));
}

void Lowering::limit_loads() {
    const std::vector<SitePlacement>& sites = tiles_.allocation().sites;
    if (loads_ && std::ranges::none_of(sites, &SitePlacement::is_planned)) {
        loads_.reset();
    }
    for (std::uint32_t site = 0; loads_ && site < sites.size(); ++site) {
        if (sites[site].is_planned) {
            loads_->limit(site, sites[site].slots);
        }
    }
}

void Lowering::follow_plan(const ChipSpec& chip) {
    estimate_.follow_plan_of_loads();
    if (policies_.ring_assignment != RingAssignment::AsPlanned) {
        return;
    }
    std::vector<bool> planned(program_.buffers.size());
    for (std::uint32_t site = 0; site < planned.size(); ++site) {
        planned[site] = loads_->has(site);
    }
    rings_ = plan_rings(program_, chip, policies_, planned);
    plans_ = plan_instructions(program_, chip, table_, rings_, policies_);
}

LoweringCounts Lowering::counts() const {
    LoweringCounts counts = emitter_.counts();
    counts.choices = choices_;
    counts.moved = moved_;
    for (QueueId queue = 0; queue < neuron_core::kQueues; ++queue) {
        LoweringCounts::Order& order = queue == queue_of(Engine::Tensor)    ? counts.tensor
                                       : queue < neuron_core::kEngineQueues ? counts.engines
                                                                            : counts.dma;
        order += window_.order(queue);
    }
    return counts;
}

bool Lowering::produce(InstructionSink& sink) {
    emitter_.emit_to(sink);
    const std::int64_t before = lowered_;
    while (lowered_ == before && !window_.is_full() && read_step()) {
    }
    if (lowered_ == before && !window_.empty()) {
        lower_next();
    }
    return lowered_ != before;
}

bool Lowering::read_step() {
    const Step* step = loads_ ? loads_->next() : cursor_.next();
    if (step == nullptr) {
        return false;
    }
    if (!step->is_alloc) {
        plan(*step);
    } else if (program_.buffers[step->run].space == Space::Hbm) {
        places_.begin_in_hbm(step->run);
    } else {
        tiles_.begin(step->run);
    }
    return true;
}

void Lowering::plan(const Step& step) {
    const std::uint32_t index = program_.runs[step.run].instruction;
    const InstructionPlan& plan = plans_[index];
    ++executed_;
    const std::int64_t ended =
        loads_ ? loads_->ended_iterations() : runtime_iterations_.ended_before(step);
    if (ended_iterations_ != ended) {
        ended_iterations_ = ended;
        drain();
        wait_from_now_on(emitter_.end_iteration(last_instruction_));
    }
    if (plan.is_fence) {
        drain();
    }
    last_instruction_ = index;
    PlannedStep& planned = window_.blank();
    planned.instruction = index;
    planned.is_in_order = is_in_order_[step.run];
    if (plan.is_transfer) {
        planned.engine = Engine::Dma;
        planned.queue = queue_of_ring(plan.ring);
        if (plan.trigger.engine != Engine::Dma) {
            planned.trigger = queue_of(plan.trigger.engine);
        }
    } else {
        planned.engine = choose_engine(index, plan);
        planned.queue = queue_of(planned.engine);
        planned.groups = table_.groups(index, planned.engine, step.at);
    }
    planned.known = &emitter_.known(planned.queue);
    planned.control = &waits_of(plan, planned);
    places_.resolve(step, plan, planned);
    add_edges(step, planned);
    tiles_.admit(planned);
    window_.admit(planned);
    if (!plan.is_fence) {
        return;
    }
    const neuron_core::QueueId queue = planned.queue;
    drain();
    if (plan.is_control) {
        wait_from_now_on(queue);
    }
    if (plan.is_control || plan.is_barrier) {
        barriers_.need_done(queue, emitter_.last_number(queue));
    }
}

void Lowering::wait_from_now_on(QueueId queue) {
    control_.need_done(queue, emitter_.last_number(queue));
    transposes_.need_done(queue, emitter_.last_number(queue));
}

const WaitSet& Lowering::waits_of(const InstructionPlan& plan, const PlannedStep& planned) const {
    if (plan.is_barrier) {
        return barriers_;
    }
    return transposes_on_array(program_.templates[planned.instruction], planned.engine)
               ? transposes_
               : control_;
}

void Lowering::add_edges(const Step& step, PlannedStep& planned) {
    const program::Run& run = program_.runs[step.run];
    for (const program::Affine& number : run.depends_on) {
        const std::int64_t producer = program::evaluate(number, step.iterations);
        const ProducerExecution* earlier = producers_.find(producer);
        if (earlier == nullptr) {
            const InstructionTemplate& instruction = program_.templates[planned.instruction];
            throw ProgramError(
                fmt::format("{}: {}: depends on producer {}, but no run before it is "
                            "that one; order them as they are executed",
                            program_.source_text(instruction),
                            name(instruction.op),
                            producer));
        }
        planned.depends_on.push_back(earlier);
    }
    if (run.producer) {
        planned.producer =
            &producers_.add(program::evaluate(*run.producer, step.iterations), planned);
    }
}

void Lowering::drain() {
    while (!window_.empty()) {
        lower_next();
    }
}

Engine Lowering::choose_engine(std::uint32_t instruction, const InstructionPlan& plan) {
    const std::vector<Engine>& engines = table_.engines(instruction);
    std::size_t best = 0;
    if (policies_.engine_choice == EngineChoice::Balanced) {
        for (std::size_t i = 1; i < engines.size(); ++i) {
            if (work_[queue_of(engines[i])] + plan.costs[i] <
                work_[queue_of(engines[best])] + plan.costs[best]) {
                best = i;
            }
        }
    }
    work_[queue_of(engines[best])] += plan.costs[best];
    choices_ += engines.size() > 1 ? 1 : 0;
    moved_ += best > 0 ? 1 : 0;
    return engines[best];
}

void Lowering::lower_next() {
    PlannedStep& step = window_.take();
    ++lowered_;
    give_bytes(step);
    window_.settle(step);
    emitter_.emit(step);
    if (step.producer != nullptr) {
        *step.producer = {.queue = step.queue, .number = emitter_.last_number(step.queue)};
    }
    demand_.met(step.instruction);
    window_.retire(step);
    if (tiles_.retire(step)) {
        window_.look_again();
    }
    count_uses(step);
}

void Lowering::give_bytes(const PlannedStep& step) {
    ++stamp_;
    bool needs_bytes = false;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr) {
            operand.tile->last_use = stamp_;
            needs_bytes = needs_bytes || operand.tile->slot == nullptr;
        }
    }
    if (needs_bytes) {  // Those that stood in line behind may take theirs.
        window_.look_again();
    }
    bool has_moved = false;
    while (needs_bytes) {  // A tile may have to move for another one of the same step.
        needs_bytes = false;
        for (const ResolvedOperand& operand : step.operands) {
            if (operand.tile != nullptr && operand.tile->slot == nullptr) {
                const bool has_moved_now = tiles_.give_bytes(*operand.tile, step, stamp_);
                needs_bytes = needs_bytes || has_moved_now;
                has_moved = has_moved || has_moved_now;
            }
        }
    }
    if (has_moved) {
        window_.forget_estimates();
    }
}

void Lowering::count_uses(const PlannedStep& step) {
    bool has_freed = false;
    for (const ResolvedOperand& operand : step.operands) {
        if (operand.tile != nullptr) {
            has_freed = tiles_.use(*operand.tile) || has_freed;
        }
    }
    if (has_freed) {
        window_.look_again();
    }
}

}  // namespace trnsim::lowering
