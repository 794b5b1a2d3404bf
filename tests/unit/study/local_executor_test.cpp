// SPDX-License-Identifier: Apache-2.0
// Jobs in processes of their own.
#include "trnsim/study/local_executor.hpp"

#include "trnsim/base/error.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <stdexcept>
#include <thread>

#include <unistd.h>

namespace trnsim::study {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(LocalExecutorTest, ReturnsOutcomesInTheOrderOfTheJobs) {
    std::vector<Job> jobs;
    jobs.reserve(6);
    for (int i = 0; i < 6; ++i) {
        jobs.emplace_back([i] {
            std::this_thread::sleep_for(std::chrono::milliseconds{i % 2 == 0 ? 30 : 0});
            return std::to_string(i);
        });
    }
    const std::vector<JobOutcome> outcomes = run_in_processes(jobs, 3);
    ASSERT_EQ(outcomes.size(), 6U);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ(outcomes[i].output, std::to_string(i));
        EXPECT_EQ(outcomes[i].exit_status, 0);
    }
}

TEST(LocalExecutorTest, GivesEachJobAProcessOfItsOwn) {
    static int calls = 0;
    const Job job = [] { return std::to_string(++calls); };
    const std::vector<JobOutcome> outcomes = run_in_processes({job, job}, 1);
    EXPECT_EQ(outcomes[0].output, "1");
    EXPECT_EQ(outcomes[1].output, "1");
    EXPECT_EQ(calls, 0);
}

TEST(LocalExecutorTest, CarriesOutputLargerThanAPipe) {
    const Job job = [] { return std::string(3'000'000, 'x'); };
    EXPECT_EQ(run_in_processes({job}, 1)[0].output, job());
}

TEST(LocalExecutorTest, TellsWhoseFaultAnExceptionIs) {
    const std::vector<JobOutcome> outcomes =
        run_in_processes({[]() -> std::string { throw UserError("no such chip"); },
                          []() -> std::string { throw ProgramError("deadlock"); },
                          []() -> std::string { throw std::logic_error("broken"); }},
                         2);
    EXPECT_EQ(outcomes[0].exit_status, 2);
    EXPECT_EQ(outcomes[0].error, "no such chip");
    EXPECT_EQ(outcomes[1].exit_status, 3);
    EXPECT_EQ(outcomes[1].error, "deadlock");
    EXPECT_EQ(outcomes[2].exit_status, 1);
    EXPECT_EQ(outcomes[2].error, "broken");
}

TEST(LocalExecutorTest, SurvivesAJobThatIsKilled) {
    const std::vector<JobOutcome> outcomes = run_in_processes({[]() -> std::string {
                                                                   raise(SIGKILL);
                                                                   return "";
                                                               },
                                                               [] { return std::string{"fine"}; }},
                                                              1);
    EXPECT_EQ(outcomes[0].exit_status, 1);
    EXPECT_THAT(outcomes[0].error, HasSubstr("ended by signal 9"));
    EXPECT_EQ(outcomes[1].output, "fine");
}

TEST(LocalExecutorTest, ReportsProgressAfterEachJob) {
    std::vector<std::size_t> done;
    const Job job = [] { return std::string{}; };
    const auto outcomes =
        run_in_processes({job, job, job}, 2, [&](std::size_t count, std::size_t total) {
            EXPECT_EQ(total, 3U);
            done.push_back(count);
        });
    EXPECT_EQ(outcomes.size(), 3U);
    EXPECT_THAT(done, ElementsAre(1, 2, 3));
}

TEST(LocalExecutorTest, FindsAtLeastOneProcessor) {
    EXPECT_GE(available_processors(), 1U);
}

}  // namespace
}  // namespace trnsim::study
